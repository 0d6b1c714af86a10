"""What can be done with a run."""

from __future__ import annotations

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.gui.state.possible_actions import (
    RunAction,
    possible_ids,
    problem_of,
    row_actions,
    selection_problem,
)
from tests.unit.gui.run_samples import over, record

ABLE = WorkerCapabilities(
    "sample", supports_resume=True, supports_policy_load=True, supports_pause_resume=True
)
UNABLE = WorkerCapabilities("sample")


@pytest.mark.parametrize(
    ("run", "able", "actions"),
    [
        (record(), ABLE, (RunAction.PAUSE, RunAction.STOP)),
        (record(), UNABLE, (RunAction.STOP,)),
        (record(state=RunState.PAUSE), ABLE, (RunAction.CONTINUE, RunAction.STOP)),
        (record(state=RunState.INIT), ABLE, (RunAction.STOP,)),
        (record(stop_requested=True), ABLE, ()),
        (over(), ABLE, (RunAction.RESUME, RunAction.EVALUATE)),
        (over(), UNABLE, (RunAction.RESUBMIT,)),
        (over(checkpoint_uri=""), ABLE, (RunAction.RESUBMIT,)),
        (over(), None, (RunAction.RESUME, RunAction.EVALUATE)),
    ],
)
def test_a_row_offers_what_comes_next(
    run: RunRecord, able: WorkerCapabilities | None, actions: tuple[RunAction, ...]
) -> None:
    assert row_actions(run, able) == actions


def test_live_runs_are_neither_deleted_nor_archived() -> None:
    for action in (RunAction.DELETE, RunAction.ARCHIVE):
        assert "stop it first" in problem_of(action, record(), ABLE)
        assert not problem_of(action, over(), ABLE)


def test_a_refusal_names_the_run() -> None:
    for action in RunAction:
        for run in (record(), over(), over(outcome=Outcome.FAILED, checkpoint_uri="")):
            problem = problem_of(action, run, UNABLE)
            assert not problem or run.run_name in problem or run.worker in problem


def test_replay_needs_a_finished_episode() -> None:
    assert problem_of(RunAction.REPLAY, record(progress=Progress()), ABLE)
    assert not problem_of(RunAction.REPLAY, record(), ABLE)


def test_of_several_runs_those_are_taken_that_it_fits() -> None:
    runs = [over(1), record(2)]
    assert not selection_problem(RunAction.STOP, runs, [ABLE, ABLE])
    assert possible_ids(RunAction.STOP, zip(runs, [ABLE, ABLE], strict=True)) == [runs[1].run_id]
    assert selection_problem(RunAction.PIN, [], []) == "No run is selected"
    # What is done with one run looks at the first alone.
    assert selection_problem(RunAction.ARCHIVE, runs[::-1], [ABLE, ABLE])


def test_comparing_takes_two() -> None:
    assert "two or more" in selection_problem(RunAction.COMPARE, [over(1)], [ABLE])
    assert not selection_problem(RunAction.COMPARE, [over(1), over(2)], [ABLE, ABLE])
