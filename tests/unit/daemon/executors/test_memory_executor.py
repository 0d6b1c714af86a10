"""The executor without processes keeps the contract, so what is tested with it counts."""

from __future__ import annotations

import pytest
from ulid import ULID

from mosaic.contracts.run_files import AttemptSpec
from mosaic.daemon.executors.base import AttemptFate, AttemptKey
from tests.executor_contract import COMMITMENT, PROOF, Bench, ExecutorContract, Gone, started
from tests.memory_executor import MemoryExecutor, MemoryMachine


class MemoryBench:
    def __init__(self) -> None:
        self.machine = MemoryMachine()

    def executor(self) -> MemoryExecutor:
        return MemoryExecutor(self.machine)

    def spec(self) -> AttemptSpec:
        return AttemptSpec(str(ULID()), 1, "/runs", "worker", (), "/", {}, exit_proof=PROOF)

    async def end_worker(self, key: AttemptKey, exit_code: int) -> None:
        self.machine.finish(key, exit_code)

    async def kill_host(self, key: AttemptKey) -> None:
        self.machine.kill_host(key)


class TestMemoryExecutor(ExecutorContract):
    @pytest.fixture
    def bench(self) -> Bench:
        return MemoryBench()


async def test_a_restart_of_the_machine_interrupts_what_ran() -> None:
    bench, gone = MemoryBench(), Gone()
    executor = bench.executor()
    key = await started(executor, bench.spec(), gone)
    bench.machine.restart()
    verdict = await executor.adopt(key, COMMITMENT, gone)
    assert verdict.fate is AttemptFate.INTERRUPTED
    assert gone.keys == []
