"""What the supervisor relies on, whoever runs the run hosts: each executor passes these tests.

A subclass gives the fixture `bench`; its workers are scripts, which hear no commands but signals.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

import pytest

from mosaic.contracts.run_files import AttemptSpec
from mosaic.daemon.executors.attempt_fate import commitment_of
from mosaic.daemon.executors.base import AttemptFate, AttemptKey, Executor
from mosaic.errors import WorkerStartError
from tests.waiting import PATIENCE_S

PROOF = "a word that only the run host knows"
COMMITMENT = commitment_of(PROOF)


class Bench(Protocol):
    """One machine with the executors of one daemon after the other."""

    def executor(self) -> Executor:
        """Of a daemon that starts now."""

    def spec(self) -> AttemptSpec:
        """Of a worker that runs until it is told to end; its proof is PROOF."""

    async def end_worker(self, key: AttemptKey, exit_code: int) -> None:
        """Let it end by itself."""

    async def kill_host(self, key: AttemptKey) -> None:
        """And all below it, as if memory had run out."""


class Gone:
    """Notes whose run host is gone."""

    def __init__(self) -> None:
        self.keys: list[AttemptKey] = []
        self._changed = asyncio.Event()

    def __call__(self, key: AttemptKey) -> None:
        self.keys.append(key)
        self._changed.set()

    async def wait(self) -> None:
        await asyncio.wait_for(self._changed.wait(), PATIENCE_S)


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not await condition():
            await asyncio.sleep(0.01)


async def started(executor: Executor, spec: AttemptSpec, gone: Gone) -> AttemptKey:
    """Launched, and its worker has been seen."""
    key = AttemptKey(spec.run_id, spec.attempt)
    await executor.launch(spec, gone)

    async def is_seen() -> bool:
        return (await executor.poll(key)).state is not None

    await until(is_seen)
    return key


class ExecutorContract:
    async def test_a_worker_that_ends_is_told_of_with_how_it_ended(self, bench: Bench) -> None:
        executor, gone = bench.executor(), Gone()
        key = await started(executor, bench.spec(), gone)
        await bench.end_worker(key, 3)
        await gone.wait()
        verdict = await executor.adopt(key, COMMITMENT, gone)
        assert verdict.fate is AttemptFate.EXITED and verdict.exit is not None
        assert (verdict.exit.run_id, verdict.exit.attempt) == (key.run_id, key.attempt)
        assert (verdict.exit.exit_code, verdict.exit.stop_reason) == (3, "")
        assert (await executor.poll(key)).state is None
        assert gone.keys == [key]

    async def test_a_worker_that_is_stopped_says_by_whose_wish(self, bench: Bench) -> None:
        executor, gone = bench.executor(), Gone()
        key = await started(executor, bench.spec(), gone)
        command = {"command": "stop", "reason": "user_cancel", "grace_s": 5}
        assert (await executor.control(key, command))["ok"]
        await gone.wait()
        verdict = await executor.adopt(key, COMMITMENT, gone)
        assert verdict.exit is not None
        assert verdict.exit.stop_reason == "user_cancel"

    async def test_a_host_is_made_to_stop_its_worker_by_a_signal(self, bench: Bench) -> None:
        executor, gone = bench.executor(), Gone()
        key = await started(executor, bench.spec(), gone)
        assert await executor.terminate(key)
        await gone.wait()
        verdict = await executor.adopt(key, COMMITMENT, gone)
        assert verdict.exit is not None
        assert verdict.exit.stop_reason == "host_terminated"
        assert not await executor.terminate(key)

    async def test_a_paused_worker_is_seen_to_stand_still_until_it_goes_on(
        self, bench: Bench
    ) -> None:
        executor, gone = bench.executor(), Gone()
        key = await started(executor, bench.spec(), gone)

        async def is_still() -> bool:
            return (await executor.poll(key)).state == "T"

        async def goes_on() -> bool:
            return (await executor.poll(key)).state in ("R", "S", "D")

        assert (await executor.control(key, {"command": "pause"}))["ok"]
        await until(is_still)
        assert (await executor.control(key, {"command": "resume"}))["ok"]
        await until(goes_on)

    async def test_a_command_nobody_knows_is_refused_and_changes_nothing(
        self, bench: Bench
    ) -> None:
        executor, gone = bench.executor(), Gone()
        key = await started(executor, bench.spec(), gone)
        assert (await executor.control(key, {"command": "dance"}))["ok"] is False
        assert (await executor.adopt(key, COMMITMENT, gone)).fate is AttemptFate.ALIVE

    async def test_a_run_outlives_its_daemon_and_the_next_one_watches_it(
        self, bench: Bench
    ) -> None:
        first, unheard = bench.executor(), Gone()
        key = await started(first, bench.spec(), unheard)
        await first.close()
        second, gone = bench.executor(), Gone()
        assert (await second.adopt(key, COMMITMENT, gone)).fate is AttemptFate.ALIVE
        await bench.end_worker(key, 0)
        await gone.wait()
        assert (await second.adopt(key, COMMITMENT, gone)).fate is AttemptFate.EXITED
        assert unheard.keys == []

    async def test_what_ended_without_a_daemon_is_read_by_the_next(self, bench: Bench) -> None:
        first, unheard = bench.executor(), Gone()
        key = await started(first, bench.spec(), unheard)
        await first.close()
        await bench.end_worker(key, 7)
        second, gone = bench.executor(), Gone()

        async def is_over() -> bool:
            return (await second.adopt(key, COMMITMENT, Gone())).fate is not AttemptFate.ALIVE

        await until(is_over)
        verdict = await second.adopt(key, COMMITMENT, gone)
        assert verdict.exit is not None and verdict.exit.exit_code == 7
        assert gone.keys == unheard.keys == []

    async def test_an_attempt_that_never_started_never_will(self, bench: Bench) -> None:
        executor, gone, spec = bench.executor(), Gone(), bench.spec()
        key = AttemptKey(spec.run_id, spec.attempt)
        for _ in range(2):
            verdict = await executor.adopt(key, COMMITMENT, gone)
            assert verdict.fate is AttemptFate.NEVER_STARTED
        assert gone.keys == []
        # Not even when the host that was on its way arrives now.
        await executor.launch(spec, gone)
        await gone.wait()
        verdict = await executor.adopt(key, COMMITMENT, gone)
        assert verdict.fate is AttemptFate.NEVER_STARTED
        assert (await executor.poll(key)).state is None

    async def test_a_killed_host_leaves_a_lost_attempt(self, bench: Bench) -> None:
        executor, gone = bench.executor(), Gone()
        key = await started(executor, bench.spec(), gone)
        await bench.kill_host(key)
        await gone.wait()
        verdict = await executor.adopt(key, COMMITMENT, gone)
        assert (verdict.fate, verdict.exit) == (AttemptFate.LOST, None)

    async def test_destroying_ends_the_attempt_and_may_be_repeated(self, bench: Bench) -> None:
        executor, gone = bench.executor(), Gone()
        key = await started(executor, bench.spec(), gone)
        await executor.destroy(key)
        await gone.wait()
        await executor.destroy(key)
        assert (await executor.adopt(key, COMMITMENT, gone)).fate is AttemptFate.LOST
        assert (await executor.poll(key)).state is None
        assert gone.keys == [key]

    async def test_an_end_without_the_proof_is_not_believed(self, bench: Bench) -> None:
        executor, gone = bench.executor(), Gone()
        key = await started(executor, bench.spec(), gone)
        await bench.end_worker(key, 0)
        await gone.wait()
        verdict = await executor.adopt(key, commitment_of("another word"), gone)
        assert (verdict.fate, verdict.exit) == (AttemptFate.LOST, None)
        assert verdict.remark

    async def test_nobody_answers_where_nothing_was_launched(self, bench: Bench) -> None:
        executor, spec = bench.executor(), bench.spec()
        key = AttemptKey(spec.run_id, spec.attempt)
        with pytest.raises(WorkerStartError):
            await executor.control(key, {"command": "stop", "reason": "user_cancel"})
        assert not await executor.terminate(key)
        assert (await executor.poll(key)).state is None
        await executor.destroy(key)
