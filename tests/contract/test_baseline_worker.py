"""The baseline worker keeps the worker contract."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from mosaic.testing.worker_contract import WorkerContract

HERE = Path(__file__).parent


class TestBaselineWorker(WorkerContract):
    module = "baseline_worker"
    tiny_config: ClassVar = {"env_id": "CartPole-v1", "episodes": 3, "seed": 7}
    long_config: ClassVar = {"env_id": "CartPole-v1", "total_timesteps": 10**12, "seed": 7}
    # Registers an environment that raises in its third step.
    crashing_config: ClassVar = {"env_id": "crashing_environment:Crashing-v0", "episodes": 3}
    environment: ClassVar = {"PYTHONPATH": str(HERE)}


class TestBaselineWorkerWithoutStepTelemetry(WorkerContract):
    module = "baseline_worker"
    tiny_config: ClassVar = {"env_id": "FrozenLake-v1", "episodes": 3, "step_telemetry": False}
    long_config: ClassVar = {
        "env_id": "FrozenLake-v1",
        "total_timesteps": 10**12,
        "step_telemetry": False,
    }
