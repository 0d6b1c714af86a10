"""What is known of bundles: from the daemon's list, and from installs that are followed."""

from __future__ import annotations

import dataclasses

from mosaic.contracts.bundles import Accelerator, InstallPhase, InstallProgress, VenvState
from mosaic.gui.state.bundles_state import BundlesState
from tests.unit.gui.bundle_samples import (
    DONE,
    going_on,
    gone_wrong,
    info,
    installed,
    other_builds,
    shelf,
)


def listed() -> BundlesState:
    state = BundlesState()
    state.set_listed([info("learner"), installed("jax")])
    return state


def test_an_install_that_is_followed_is_newer_than_the_list() -> None:
    state = listed()
    state.show_progress("learner", going_on(0.5))
    found = state.info("learner")
    assert found is not None and found.state is VenvState.INSTALLING
    assert found.progress == going_on(0.5) and state.installing == ("learner",)
    state.set_listed([info("learner")])  # asked for before it began
    assert state.installing == ("learner",)


def test_an_install_that_is_done_is_there_before_the_next_list() -> None:
    state = listed()
    state.show_progress("learner", going_on())
    state.end_install("learner", DONE)
    assert state.is_usable("learner") and not state.installing


def test_a_failure_is_told_until_it_is_tried_again_or_there() -> None:
    state = listed()
    state.show_progress("learner", going_on())
    state.end_install("learner", gone_wrong())
    found = state.info("learner")
    assert found is not None and found.state is VenvState.ABSENT
    assert found.progress == gone_wrong()
    state.set_listed([info("learner"), installed("jax")])
    assert state.failure("learner") is not None, "the list knows nothing of it"
    state.show_progress("learner", going_on(0.0))
    assert state.failure("learner") is None
    state.end_install("learner", gone_wrong())
    state.set_listed([installed("learner"), installed("jax")])
    assert state.failure("learner") is None, "somebody else has installed it"


def test_a_canceled_install_is_absent_and_no_failure() -> None:
    state = listed()
    state.show_progress("learner", going_on())
    state.end_install("learner", InstallProgress(InstallPhase.CANCELED))
    found = state.info("learner")
    assert found is not None and found.state is VenvState.ABSENT and found.progress is None


def test_the_same_list_is_no_change() -> None:
    state = listed()
    told: list[str] = []
    state.changed.connect(lambda: told.append("changed"))
    state.set_listed([info("learner"), installed("jax")])
    state.show_progress("learner", going_on(0.5))
    state.show_progress("learner", going_on(0.5))
    assert told == ["changed"]


def test_what_was_listed_stays_when_the_daemon_is_away() -> None:
    state = listed()
    state.set_problem("No daemon answers")
    assert [item.name for item in state.infos] == ["learner", "jax"]
    state.set_listed([info("learner")])
    assert state.problem == ""


def test_builds_for_several_accelerators_are_kept_until_the_list_is_another() -> None:
    state = BundlesState()
    state.set_listed(shelf())
    (jax,) = state.variants("jax")
    alike = dataclasses.replace(jax, accelerator=Accelerator.ROCM)
    state.set_variants("jax", [jax, *other_builds(), alike])
    assert [item.accelerator for item in state.variants("jax")] == ["cpu", "cuda"]
    assert state.has_variants("jax") and not state.has_variants("ray")
    state.set_listed([*shelf(), info("new")])
    assert not state.has_variants("jax"), "sizes may be others now"
    assert state.info("nothing") is None and not state.is_usable("nothing")
    assert state.usable == {"base", "learner"}


def test_venvs_of_older_locks_are_no_bundles_of_their_own() -> None:
    state = BundlesState()
    older = installed("learner", lock_hash="older")
    state.set_listed([info("learner"), older])
    assert [item.state for item in state.infos] == [VenvState.ABSENT]
    assert state.left_over == (older,) and not state.is_usable("learner")
