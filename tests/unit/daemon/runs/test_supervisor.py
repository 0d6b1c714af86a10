"""Retry, adoption, stop and pause, with run hosts that exist in memory only.

Registry, ingest and specifications are the real ones; time passes when a test says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from mosaic.contracts.run_state import FailureKind, Outcome, RunState
from mosaic.daemon.bus.run_bus import RunBus, RunFeed
from mosaic.daemon.executors.base import AttemptKey
from mosaic.daemon.executors.machine import Capacity
from mosaic.daemon.launch.attempt_spec import SpecBuilder
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.run_lifecycle import Sampled
from mosaic.daemon.runs.scheduler import RunScheduler
from mosaic.daemon.runs.supervisor import Supervisor
from mosaic.daemon.workers.catalog import WorkerCatalog
from mosaic.paths import Home
from tests.memory_executor import MemoryExecutor, MemoryMachine
from tests.registry_samples import made_home, new_run, submit
from tests.waiting import PATIENCE_S
from tests.worker_samples import KnownWorkers, submission


class Clock:
    """Stands still until it is set."""

    def __init__(self) -> None:
        self.now = time.monotonic()

    def __call__(self) -> float:
        return self.now


class Daemon:
    """The part of the daemon that looks after runs, from its start to its end."""

    def __init__(self, home: Home, registry: Registry, machine: MemoryMachine, clock: Clock):
        self.home = home
        self.registry = registry
        self._clock = clock
        vault = SecretVault(home)
        specs = SpecBuilder(home, cast(WorkerCatalog, KnownWorkers()), vault)
        self._feed = RunFeed()
        executor = MemoryExecutor(machine)
        self.supervisor = Supervisor(
            home, registry, executor, vault, specs, self._feed, RunBus(), clock
        )
        scheduler = RunScheduler(self.supervisor, Capacity(cpus=8, memory_mb=8192))
        self.scheduling = asyncio.create_task(scheduler.serve())

    async def submit(self, **retry: Any) -> ActiveRun:
        new = new_run()
        await submit(self.registry, self.home, new)
        run = ActiveRun(new.record, submission("python", arguments=["train.py"], retry=retry))
        self.supervisor.enqueue(run)
        return run

    async def take_over(self, earlier: ActiveRun, **changes: Any) -> ActiveRun:
        """From what is stored, as after a start: of the earlier daemon nothing is left."""
        record = await self.registry.get(earlier.run_id)
        run = ActiveRun(replace(record, **changes), earlier.config)
        await self.supervisor.adopt(run)
        return run

    async def reach(self, run: ActiveRun, *states: RunState, attempt: int = 1) -> None:
        def is_there() -> bool:
            return run.record.state in states and run.record.attempt == attempt

        await self.until(run, is_there)

    async def until(self, run: ActiveRun, condition: Callable[[], bool]) -> None:
        with self._feed.watch(run.run_id) as watcher:
            async with asyncio.timeout(PATIENCE_S):
                while not condition():
                    await watcher.changed()
                    watcher.take()

    def let_pass(self, seconds: float) -> None:
        self._clock.now += seconds
        self.supervisor.queue_changed.set()

    async def end(self) -> None:
        self.scheduling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.scheduling
        await self.supervisor.close()
        await self.registry.close()


class Stage:
    """A machine with one daemon after the other."""

    def __init__(self, home: Home) -> None:
        self.machine = MemoryMachine()
        self.clock = Clock()
        self._home = home
        self._daemon: Daemon | None = None

    async def start_daemon(self) -> Daemon:
        """After the end of the one before, if there was one."""
        await self.end_daemon()
        registry = await Registry.open(self._home)
        self._daemon = Daemon(self._home, registry, self.machine, self.clock)
        return self._daemon

    async def end_daemon(self) -> None:
        if self._daemon is not None:
            await self._daemon.end()
        self._daemon = None


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    home = made_home(tmp_path)
    made = Stage(home)
    yield made
    await made.end_daemon()
    home.runtime.rmdir()


def states(run: ActiveRun) -> list[RunState]:
    return [transition.state for transition in run.record.transitions]


def kind_of_failure(run: ActiveRun) -> FailureKind | None:
    return run.record.failure.kind if run.record.failure else None


# Retry


async def test_failures_are_retried_after_longer_and_longer_pauses_until_none_is_left(
    stage: Stage,
) -> None:
    daemon = await stage.start_daemon()
    run = await daemon.submit(max_attempts=3, backoff_seconds=10)
    for attempt, pause_s in ((1, 10), (2, 20)):
        await daemon.reach(run, RunState.RDY, attempt=attempt)
        stage.machine.finish(run.key, 1)
        await daemon.reach(run, RunState.INIT, attempt=attempt)
        assert run.not_before == stage.clock.now + pause_s
        # Looked at once more shortly before, it still waits.
        daemon.let_pass(pause_s - 1)
        await daemon.until(run, lambda: run.record.waiting == "waiting 1 s before the next attempt")
        assert len(stage.machine.hosts) == attempt
        daemon.let_pass(1)
    await daemon.reach(run, RunState.RDY, attempt=3)
    stage.machine.finish(run.key, 1)
    await daemon.reach(run, RunState.TERM, attempt=3)
    assert run.record.outcome is Outcome.FAILED
    assert states(run).count(RunState.FAULT) == len(stage.machine.hosts) == 3
    assert run.run_id not in daemon.supervisor.active


async def test_success_is_the_last_attempt(stage: Stage) -> None:
    daemon = await stage.start_daemon()
    run = await daemon.submit(max_attempts=3)
    await daemon.reach(run, RunState.RDY)
    stage.machine.finish(run.key, 0)
    await daemon.reach(run, RunState.TERM)
    assert run.record.outcome is Outcome.SUCCEEDED
    assert (await daemon.registry.get(run.run_id)).outcome is Outcome.SUCCEEDED
    assert len(stage.machine.hosts) == 1


async def test_a_host_that_cannot_be_started_is_a_failed_attempt(stage: Stage) -> None:
    stage.machine.launch_error = "out of processes"
    daemon = await stage.start_daemon()
    run = await daemon.submit(max_attempts=2, backoff_seconds=5)
    await daemon.reach(run, RunState.INIT)
    assert kind_of_failure(run) is FailureKind.LAUNCH_ERROR
    stage.machine.launch_error = ""
    daemon.let_pass(5)
    await daemon.reach(run, RunState.RDY, attempt=2)


async def test_a_lost_attempt_is_a_failure_and_is_retried_like_one(stage: Stage) -> None:
    daemon = await stage.start_daemon()
    run = await daemon.submit(max_attempts=2, backoff_seconds=5)
    await daemon.reach(run, RunState.RDY)
    stage.machine.kill_host(run.key)
    await daemon.reach(run, RunState.INIT)
    assert kind_of_failure(run) is FailureKind.LOST
    daemon.let_pass(5)
    await daemon.reach(run, RunState.RDY, attempt=2)
    stage.machine.kill_host(run.key)
    await daemon.reach(run, RunState.TERM, attempt=2)
    assert run.record.outcome is Outcome.FAILED
    assert kind_of_failure(run) is FailureKind.LOST


async def test_an_end_that_the_run_host_has_not_signed_counts_as_lost(stage: Stage) -> None:
    daemon = await stage.start_daemon()
    run = await daemon.submit()
    await daemon.reach(run, RunState.RDY)
    stage.machine.finish(run.key, 0, proof="a guess")
    await daemon.reach(run, RunState.TERM)
    assert run.record.outcome is Outcome.FAILED
    assert kind_of_failure(run) is FailureKind.LOST


# Adoption


async def test_a_run_that_outlived_its_daemon_is_adopted_and_ends_under_the_next(
    stage: Stage,
) -> None:
    first = await stage.start_daemon()
    earlier = await first.submit()
    await first.reach(earlier, RunState.RDY)
    second = await stage.start_daemon()
    run = await second.take_over(earlier)
    assert (run.record.state, run.record.attempt) == (RunState.RDY, 1)
    stage.machine.finish(run.key, 0)
    await second.reach(run, RunState.TERM)
    assert run.record.outcome is Outcome.SUCCEEDED
    assert len(stage.machine.hosts) == 1


async def test_a_host_launched_by_a_daemon_that_died_at_once_is_adopted(stage: Stage) -> None:
    """It is in state HSHK: nobody has seen its worker yet."""
    stage.machine.may_launch.clear()
    first = await stage.start_daemon()
    earlier = await first.submit()
    await first.reach(earlier, RunState.HSHK)
    proven = first.registry.exit_proof
    while not await proven(earlier.run_id, 1):
        await asyncio.sleep(0)
    stage.machine.may_launch.set()
    while earlier.key not in stage.machine.hosts:
        await asyncio.sleep(0)
    second = await stage.start_daemon()
    run = await second.take_over(earlier)
    await second.reach(run, RunState.RDY)
    assert list(stage.machine.hosts) == [AttemptKey(run.run_id, 1)]


@pytest.mark.parametrize(("exit_code", "outcome"), [(0, Outcome.SUCCEEDED), (3, Outcome.FAILED)])
async def test_an_end_during_the_downtime_is_recorded(
    stage: Stage, exit_code: int, outcome: Outcome
) -> None:
    first = await stage.start_daemon()
    earlier = await first.submit()
    await first.reach(earlier, RunState.RDY)
    await stage.end_daemon()
    stage.machine.finish(earlier.key, exit_code)
    second = await stage.start_daemon()
    run = await second.take_over(earlier)
    await second.reach(run, RunState.TERM)
    assert (run.record.outcome, run.record.exit_code) == (outcome, exit_code)
    stored = await second.registry.get(run.run_id)
    assert (stored.outcome, stored.exit_code) == (outcome, exit_code)


async def test_a_failure_during_the_downtime_is_retried(stage: Stage) -> None:
    first = await stage.start_daemon()
    earlier = await first.submit(max_attempts=2, backoff_seconds=5)
    await first.reach(earlier, RunState.RDY)
    await stage.end_daemon()
    stage.machine.finish(earlier.key, 3)
    second = await stage.start_daemon()
    run = await second.take_over(earlier)
    await second.reach(run, RunState.INIT)
    second.let_pass(5)
    await second.reach(run, RunState.RDY, attempt=2)


async def test_an_attempt_that_never_started_is_queued_again_and_costs_no_attempt(
    stage: Stage,
) -> None:
    stage.machine.may_launch.clear()
    first = await stage.start_daemon()
    earlier = await first.submit(max_attempts=1)
    await first.reach(earlier, RunState.HSHK)
    await stage.end_daemon()
    stage.machine.may_launch.set()
    second = await stage.start_daemon()
    run = await second.take_over(earlier)
    await second.reach(run, RunState.RDY, attempt=2)
    assert RunState.FAULT not in states(run)
    assert list(stage.machine.hosts) == [AttemptKey(run.run_id, 2)]


@pytest.mark.parametrize(
    ("end", "kind"),
    [("kill_host", FailureKind.LOST), ("restart", FailureKind.INTERRUPTED)],
)
async def test_what_vanished_during_the_downtime_has_failed(
    stage: Stage, end: str, kind: FailureKind
) -> None:
    first = await stage.start_daemon()
    earlier = await first.submit()
    await first.reach(earlier, RunState.RDY)
    await stage.end_daemon()
    if end == "restart":
        stage.machine.restart()
    else:
        stage.machine.kill_host(earlier.key)
    second = await stage.start_daemon()
    run = await second.take_over(earlier)
    await second.reach(run, RunState.TERM)
    assert (run.record.outcome, kind_of_failure(run)) == (Outcome.FAILED, kind)


# Stopping


async def test_a_live_run_is_stopped_through_its_host(stage: Stage) -> None:
    daemon = await stage.start_daemon()
    run = await daemon.submit(max_attempts=3)
    await daemon.reach(run, RunState.RDY)
    await daemon.supervisor.stop(run, "enough", None)
    await daemon.reach(run, RunState.TERM)
    assert run.record.outcome is Outcome.CANCELED
    assert run.record.transitions[-1].reason == "stopped by the user: enough"
    (host,) = stage.machine.hosts.values()
    assert [command["command"] for command in host.commands] == ["stop"]


async def test_a_run_that_is_stopped_while_it_is_launched_does_not_run(stage: Stage) -> None:
    stage.machine.may_launch.clear()
    daemon = await stage.start_daemon()
    run = await daemon.submit(max_attempts=3)
    await daemon.reach(run, RunState.HSHK)
    await daemon.supervisor.stop(run, "", None)
    assert run.stop_task is not None
    await run.stop_task  # there was no host to tell
    stage.machine.may_launch.set()
    await daemon.reach(run, RunState.TERM)
    assert run.record.outcome is Outcome.CANCELED
    assert not [host for host in stage.machine.hosts.values() if host.is_alive]


async def test_a_stop_that_the_daemon_died_over_is_carried_out_by_the_next(stage: Stage) -> None:
    first = await stage.start_daemon()
    earlier = await first.submit()
    await first.reach(earlier, RunState.RDY)
    second = await stage.start_daemon()
    run = await second.take_over(earlier, stop_requested=True)
    await second.reach(run, RunState.TERM)
    assert run.record.outcome is Outcome.CANCELED


async def test_a_run_that_waits_for_its_retry_is_stopped_for_good(stage: Stage) -> None:
    daemon = await stage.start_daemon()
    run = await daemon.submit(max_attempts=2, backoff_seconds=5)
    await daemon.reach(run, RunState.RDY)
    stage.machine.finish(run.key, 1)
    await daemon.reach(run, RunState.INIT)
    await daemon.supervisor.stop(run, "", None)
    assert (run.record.state, run.record.outcome) == (RunState.TERM, Outcome.CANCELED)
    assert run.run_id not in daemon.supervisor.active
    assert len(stage.machine.hosts) == 1


# Pausing


async def test_a_paused_run_stays_paused_under_the_next_daemon_and_goes_on(stage: Stage) -> None:
    first = await stage.start_daemon()
    earlier = await first.submit()
    await first.reach(earlier, RunState.RDY)
    await first.supervisor.apply(earlier, Sampled())
    await first.supervisor.set_paused(earlier, True)
    assert earlier.record.state is RunState.PAUSE
    second = await stage.start_daemon()
    run = await second.take_over(earlier)
    assert run.record.state is RunState.PAUSE
    assert (await second.supervisor.executor.poll(run.key)).state == "T"
    record = await second.supervisor.set_paused(run, False)
    assert record.state is RunState.EXEC
    assert (await second.supervisor.executor.poll(run.key)).state == "S"
    stage.machine.finish(run.key, 0)
    await second.reach(run, RunState.TERM)
    assert run.record.outcome is Outcome.SUCCEEDED


async def test_a_paused_run_can_be_stopped(stage: Stage) -> None:
    daemon = await stage.start_daemon()
    run = await daemon.submit()
    await daemon.reach(run, RunState.RDY)
    await daemon.supervisor.set_paused(run, True)
    await daemon.supervisor.stop(run, "", None)
    await daemon.reach(run, RunState.TERM)
    assert run.record.outcome is Outcome.CANCELED


# The end of the daemon


async def test_a_change_of_the_queue_does_not_keep_the_daemon_from_ending(stage: Stage) -> None:
    daemon = await stage.start_daemon()
    run = await daemon.submit()
    await daemon.reach(run, RunState.RDY)
    daemon.supervisor.queue_changed.set()
    daemon.scheduling.cancel()
    await asyncio.wait({daemon.scheduling}, timeout=PATIENCE_S)
    assert daemon.scheduling.cancelled()
