from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.bundles.locks import Lock
from mosaic.contracts.bundles import BundleRule, VenvNeed, VenvState
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.run_config import TrainRunConfig, parse_run_config
from mosaic.daemon.bundles.needs import ResolvedVenv
from mosaic.daemon.launch.command import LaunchCommand
from mosaic.daemon.launch.venvs import config_in_venvs, in_venvs
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.errors import BundleError
from tests.daemon_harness import run_document
from tests.support.bundle_builds import lock_of
from tests.support.tiny_wheels import make_wheel

OURS = "/mosaic/bin/python"
RULES = (
    BundleRule("learner"),
    BundleRule("old", python_field="extras.python", where={"source": "old"}, is_optional=True),
)


class Workers:
    python = OURS

    def path_of(self, entry: WorkerEntry) -> str:
        return f"/links/{entry.name}"


class Venvs:
    def __init__(self, **states: VenvState) -> None:
        self.states = states
        self.lock: Lock | None = None
        self.note = ""

    def resolve(self, need: VenvNeed, kept: Mapping[str, Lock] | None = None) -> ResolvedVenv:
        state = self.states[need.name]
        if state is VenvState.UNAVAILABLE:
            return ResolvedVenv(need, state, problem=BundleError("no lock"))
        if state is VenvState.PRESENT:
            return ResolvedVenv(need, state)
        path = Path(f"/venvs/{need.name}")
        python = f"{path}/bin/python"
        return ResolvedVenv(need, state, self.lock, path, python, note=self.note)

    def mark_used(self, path: Path) -> None:
        raise AssertionError("nothing is launched")


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    return lock_of([make_wheel(tmp_path, "alpha")])


def command_of(python: str = OURS, **changes: Any) -> LaunchCommand:
    entry = WorkerEntry(
        "w", "w.cli", OURS, capabilities=WorkerCapabilities("w", bundle_rules=RULES)
    )
    return LaunchCommand(python, "w", module="w.cli", entry=replace(entry, **changes))


def config_of(**config: Any) -> TrainRunConfig:
    return parse_run_config(
        {
            **run_document(entry_point="w"),
            "metadata": {"worker": {"config": config}},
        }
    )


def placed(lock: Lock, command: LaunchCommand, settings: Any, **states: VenvState) -> LaunchCommand:
    venvs = Venvs(**states)
    venvs.lock = lock
    return in_venvs(command, config_of(**settings), Workers(), venvs)


def test_what_is_all_present_changes_nothing(lock: Lock) -> None:
    command = command_of()
    assert placed(lock, command, {}, learner=VenvState.PRESENT) == command
    assert placed(lock, LaunchCommand(OURS, "script", script="/a.py"), {}).venvs == ()


@pytest.mark.parametrize("state", [VenvState.INSTALLED, VenvState.ABSENT])
def test_a_worker_runs_in_its_venv_with_nothing_but_itself_on_the_path(
    lock: Lock, state: VenvState
) -> None:
    command = placed(lock, command_of(), {}, learner=state)
    assert (command.python, command.path_dirs) == ("/venvs/learner/bin/python", ("/links/w",))
    assert command.is_as_installed, "it is asked about no more than it was"
    assert bool(command.missing) is (state is VenvState.ABSENT)


def test_an_interpreter_that_somebody_chose_is_left_alone(lock: Lock) -> None:
    command = command_of("/mine/bin/python")
    assert placed(lock, command, {}, learner=VenvState.ABSENT) == command


def test_a_bundle_that_cannot_be_had_keeps_nobody_from_running_who_lacks_nothing(
    lock: Lock,
) -> None:
    assert placed(lock, command_of(), {}, learner=VenvState.UNAVAILABLE).missing == ()
    lacking = command_of(readiness=(CheckResult("torch", False, "missing"),))
    command = placed(lock, lacking, {}, learner=VenvState.UNAVAILABLE)
    assert [venv.name for venv in command.missing] == ["learner"]
    assert command.python == OURS


def test_a_build_that_stands_in_is_needed_only_by_a_worker_that_lacks_something(
    lock: Lock,
) -> None:
    venvs = Venvs(learner=VenvState.ABSENT)
    venvs.lock, venvs.note = lock, "This is the larger build."
    lacking = command_of(readiness=(CheckResult("torch", False, "missing"),))
    ready = command_of(readiness=(CheckResult("torch", True, "found"),))
    config = config_of()
    assert in_venvs(ready, config, Workers(), venvs).missing == ()
    for command in (lacking, command_of()):  # nobody knows what that one lacks
        missing = in_venvs(command, config, Workers(), venvs).missing
        assert [venv.note for venv in missing] == ["This is the larger build."]
    # Where somebody has installed it, it is used.
    venvs.states["learner"] = VenvState.INSTALLED
    assert in_venvs(ready, config, Workers(), venvs).python == "/venvs/learner/bin/python"


def test_a_program_of_another_venv_gets_its_interpreter(lock: Lock) -> None:
    states = {"learner": VenvState.PRESENT, "old": VenvState.INSTALLED}
    settings = {"source": "old", "extras": {"a": 1}}
    command = placed(lock, command_of(), settings, **states)
    assert command.python == OURS
    assert config_in_venvs(settings, command) == {
        "source": "old",
        "extras": {"a": 1, "python": "/venvs/old/bin/python"},
    }
    assert settings["extras"] == {"a": 1}


def test_what_one_can_do_without_is_offered_beside_mosaic_and_needed_elsewhere(
    lock: Lock,
) -> None:
    absent = {"old": VenvState.ABSENT}
    beside = placed(lock, command_of(), {"source": "old"}, learner=VenvState.PRESENT, **absent)
    assert beside.missing == () and [venv.name for venv in beside.offered] == ["old"]
    assert config_in_venvs({"source": "old"}, beside) == {"source": "old"}
    apart = placed(lock, command_of(), {"source": "old"}, learner=VenvState.INSTALLED, **absent)
    assert [venv.name for venv in apart.missing] == ["old"] and apart.offered == ()
