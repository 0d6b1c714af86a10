"""The BDI worker keeps the worker contract, run by the interpreter of its bundle."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mosaic.testing.worker_contract import WorkerContract
from mosaic.testing.worker_process import WorkerProcess
from tests.integration.bdi.bundle_python import SOURCE, bundle_python

BASE: dict[str, Any] = {"algo": "q_learning", "env_id": "FrozenLake-v1", "seed": 3}


@pytest.fixture(autouse=True, scope="module")
def interpreter() -> None:
    BdiWorkerContract.python = str(bundle_python())


class BdiWorkerContract(WorkerContract):
    module = "spade_bdi_rl_worker"
    tiny_config: ClassVar = {**BASE, "total_timesteps": 600}
    long_config: ClassVar = {**BASE, "total_timesteps": 10**12}
    environment: ClassVar[Mapping[str, str]] = {"PYTHONPATH": str(SOURCE)}
    varying_metrics: ClassVar = frozenset({"charts/SPS", "charts/episodes_per_second"})
    # Agents and a server start beside whatever else the machine does.
    timeout_s: ClassVar = 120.0
    stop_timeout_s: ClassVar = 30.0


class TestBdiWorker(BdiWorkerContract):
    pass


class TestBdiWorkerWithSummaries(BdiWorkerContract):
    tiny_config: ClassVar = {
        **BASE,
        "total_timesteps": 20_000,
        "extras": {"telemetry": "summary", "sample_every": 500},
    }
    long_config: ClassVar = {
        **BASE,
        "total_timesteps": 10**12,
        "extras": {"telemetry": "summary"},
    }

    def test_stops_after_its_step_budget_as_completed(self, tmp_path: Path) -> None:
        """Not by the contract's 50 steps: half of these are of one episode."""
        with self.start_budgeted(tmp_path) as worker:
            assert worker.wait(self.timeout_s) == 0, worker.stderr
            last = worker.events()[-1]
        assert last["payload"]["stop_reason"] == "max_steps"
        assert 5_000 <= last["payload"]["steps"] < 5_200

    def start_budgeted(self, folder: Path) -> WorkerProcess:
        from mosaic.contracts import worker_environment as variables

        return self.start_long(folder, {variables.MAX_STEPS: "5000"}, is_waiting=False)
