"""The CleanRL worker keeps the worker contract."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from mosaic.testing.worker_contract import WorkerContract

HERE = Path(__file__).parent
SMALL_PPO = {"algo_params": {"num_envs": 2, "num_steps": 32, "num_minibatches": 2}}


def config(total_timesteps: int, env_id: str = "CartPole-v1") -> dict[str, Any]:
    return {
        "algo": "ppo",
        "env_id": env_id,
        "total_timesteps": total_timesteps,
        "seed": 7,
        "extras": SMALL_PPO,
    }


class TestCleanRLWorker(WorkerContract):
    module = "cleanrl_worker"
    tiny_config: ClassVar = config(512)
    long_config: ClassVar = config(10**12)
    # Registers an environment that raises in its third step.
    crashing_config: ClassVar = config(512, "crashing_environment:Crashing-v0")
    environment: ClassVar = {"PYTHONPATH": str(HERE)}
