from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from mosaic.bundles.install_program import ProgramRequest
from mosaic.bundles.locks import Lock
from mosaic.contracts.bundles import InstallPhase, InstallProgress, VenvNeed, VenvState
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_state import RunState
from mosaic.daemon.bundles.installs import Install
from mosaic.daemon.bundles.kept_locks import Agreement, keep_agreement, kept_agreement
from mosaic.daemon.bundles.needs import ResolvedVenv
from mosaic.daemon.bundles.waiting import WaitingRuns
from mosaic.daemon.bus.run_bus import RunFeed
from mosaic.daemon.launch.attempt_spec import SpecBuilder
from mosaic.daemon.launch.command import LaunchCommand
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.run_lifecycle import Event, Failed
from mosaic.daemon.runs.supervisor import Supervisor
from mosaic.errors import BundleError, UnknownWorkerError
from mosaic.paths import Home
from tests.registry_samples import made_home, new_run
from tests.support.bundle_builds import lock_of
from tests.support.tiny_wheels import make_wheel
from tests.waiting import PATIENCE_S
from tests.worker_samples import submission

PATH = Path("/venvs/learner-1")
REQUEST = ProgramRequest("a lock", str(PATH), "/python")


@dataclass
class Supervised:
    """The part of the supervisor that is told."""

    active: dict[str, ActiveRun] = field(default_factory=dict)
    feed: RunFeed = field(default_factory=RunFeed)
    queue_changed: asyncio.Event = field(default_factory=asyncio.Event)
    events: list[Event] = field(default_factory=list)

    async def apply_for_sure(self, run: ActiveRun, event: Event) -> None:
        self.events.append(event)
        run.record = replace(run.record, state=RunState.FAULT)


class Needs:
    """One venv, which is there or not."""

    def __init__(self, lock: Lock) -> None:
        self.lock = lock
        self.state = VenvState.ABSENT
        self.is_worker_gone = False

    def command_of(self, run_id: str, config: TrainRunConfig) -> LaunchCommand:
        if self.is_worker_gone:
            raise UnknownWorkerError("it is gone")
        venv = ResolvedVenv(VenvNeed("learner"), self.state, self.lock, PATH)
        return LaunchCommand("/python", "w", module="w.cli", venvs=(venv,))


class Stage:
    def __init__(self, home: Home, lock: Lock) -> None:
        self.home = home
        self.supervisor = Supervised()
        self.needs = Needs(lock)
        self.started: list[Install] = []
        self.refusal: BundleError | None = None
        self.waiting = WaitingRuns(
            home,
            cast(Supervisor, self.supervisor),
            cast(SpecBuilder, self.needs),
            self.start,
        )

    def start(self, venv: ResolvedVenv) -> Install:
        if self.refusal is not None:
            raise self.refusal
        if not self.started:
            self.started.append(Install(str(venv.path), venv.name, REQUEST))
        return self.started[0]

    def tell(self, phase: InstallPhase, **details: Any) -> None:
        self.started[0].tell(InstallProgress(phase, **details))
        self.waiting.on_change(self.started[0])

    async def queued(self, agreement: Agreement | None = None) -> ActiveRun:
        run = ActiveRun(new_run().record, submission())
        self.home.run(run.run_id).directory.mkdir()
        if agreement is not None:
            keep_agreement(self.home.run(run.run_id), agreement)
        self.supervisor.active[run.run_id] = run
        await self.waiting.look(run)
        return run

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await asyncio.sleep(0)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(made_home(tmp_path), lock_of([make_wheel(tmp_path / "wheels", "alpha")]))


async def test_without_an_agreement_a_run_says_which_command_goes_on(stage: Stage) -> None:
    run = await stage.queued()
    assert "`mosaic bundles install learner`" in run.blocked
    assert run.record.waiting == run.blocked and stage.started == []


async def test_runs_wait_for_one_install_and_say_how_far_it_is(stage: Stage) -> None:
    runs = [await stage.queued(Agreement()), await stage.queued(Agreement())]
    assert len(stage.started) == 1
    stage.tell(InstallPhase.FETCHING, fraction=0.61)
    assert [run.record.waiting for run in runs] == ["installing learner: 61 %"] * 2
    stage.needs.state = VenvState.INSTALLED
    stage.tell(InstallPhase.DONE, fraction=1.0)
    await stage.until(lambda: not any(run.blocked for run in runs))
    assert stage.supervisor.queue_changed.is_set()


async def test_an_install_that_fails_is_the_failure_of_who_waits_for_it(stage: Stage) -> None:
    run = await stage.queued(Agreement())
    bystander = await stage.queued()
    stage.tell(InstallPhase.FAILED, message="The index is down.", hint="try again")
    await stage.until(lambda: bool(stage.supervisor.events))
    (event,) = stage.supervisor.events
    assert isinstance(event, Failed)
    assert (event.failure.message, event.failure.hint) == ("The index is down.", "try again")
    await stage.until(lambda: not run.blocked)
    assert bystander.blocked


async def test_a_run_that_another_venv_serves_waits_for_no_install_any_more(stage: Stage) -> None:
    run = await stage.queued(Agreement())
    stage.needs.state = VenvState.INSTALLED  # of one that holds more
    await stage.waiting.look(run)
    assert not run.blocked
    stage.tell(InstallPhase.FETCHING, fraction=0.61)
    stage.tell(InstallPhase.FAILED, message="The index is down.", hint="try again")
    await asyncio.sleep(0)
    assert not run.blocked and stage.supervisor.events == []


async def test_a_cancel_takes_back_what_was_agreed(stage: Stage) -> None:
    run = await stage.queued(Agreement())
    stage.started[0].was_canceled = True
    stage.tell(InstallPhase.CANCELED)
    await stage.until(lambda: "`mosaic bundles install learner`" in run.blocked)
    assert kept_agreement(stage.home.run(run.run_id)) is None


async def test_the_end_of_the_daemon_takes_back_nothing(stage: Stage) -> None:
    run = await stage.queued(Agreement())
    stage.tell(InstallPhase.CANCELED)
    assert kept_agreement(stage.home.run(run.run_id)) == Agreement()


async def test_more_than_was_agreed_to_fails_the_run(stage: Stage) -> None:
    await stage.queued(Agreement(most_bytes=10))
    (event,) = stage.supervisor.events
    assert isinstance(event, Failed) and "10 B were agreed to" in event.failure.message
    assert stage.started == []


async def test_an_install_that_cannot_begin_is_the_failure_of_who_needs_it(stage: Stage) -> None:
    stage.refusal = BundleError("learner is damaged, and a run uses it", hint="wait for the run")
    await stage.queued(Agreement())
    (event,) = stage.supervisor.events
    assert isinstance(event, Failed)
    assert event.failure.message == stage.refusal.message
    assert event.failure.hint == "wait for the run"


async def test_what_was_removed_blocks_a_run_again(stage: Stage) -> None:
    stage.needs.state = VenvState.INSTALLED
    run = await stage.queued()
    assert not run.blocked
    stage.needs.state = VenvState.ABSENT
    stage.waiting.look_at_all()
    await stage.until(lambda: bool(run.blocked))


async def test_a_run_whose_worker_is_gone_is_launched_to_say_so(stage: Stage) -> None:
    stage.needs.is_worker_gone = True
    run = await stage.queued(Agreement())
    assert not run.blocked
