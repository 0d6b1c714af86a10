"""A whole comparison: which runs count, what is cut, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from mosaic.compare.comparison import Comparison, Question, compare
from mosaic.compare.curves import Curve
from mosaic.compare.groups import RunGroup, with_ends
from mosaic.contracts.events import finite_json
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.errors import RequestError
from tests.compare_samples import (
    RETURNS,
    rising_curve,
    run_record,
    sample_comparison,
    tails_of,
)


def compared(curves: dict[str, Curve], *groups: tuple[str, list[RunRecord]]) -> Comparison:
    formed = [RunGroup(label, tuple(runs)) for label, runs in groups]
    return compare(RETURNS, formed, curves, tails_of(curves))


def test_two_groups_are_summed_up_judged_and_what_differs_is_named() -> None:
    found = sample_comparison([[400, 410, 390, 405, 395], [300, 310, 290, 305, 295]])
    better, worse = found.groups
    assert better.final.iqm.value == pytest.approx(400, abs=5)
    assert better.area.iqm.value == pytest.approx(300, abs=10)  # rises for half of the range
    assert worse.seeds == 5 and worse.curve.iqm[-1] == pytest.approx(300, abs=5)
    assert found.headlines()[0].startswith("group 0 is better than group 1: P(improvement) = 1.00")
    assert [item.path for item in found.differences] == ["learning_rate"]
    assert not found.warnings


def test_all_numbers_go_into_json() -> None:
    text = json.dumps(finite_json(sample_comparison([[1.0, 2.0], [3.0]]).to_dict()))
    data = json.loads(text)
    assert len(data["grid"]) == len(data["groups"][0]["curve"]["iqm"]) == 200
    assert data["best"] == "group 1" and data["pairs"][0]["p_value"] is None


def test_a_single_group_and_a_single_seed_are_enough_to_look_at() -> None:
    (line,) = sample_comparison([[400.0]]).headlines()
    assert line.startswith("group 0 ends at") and "One seed says nothing" in line


def test_many_groups_are_ranked_by_the_best() -> None:
    lines = sample_comparison([[100.0 * n + s for s in range(5)] for n in range(1, 9)]).headlines()
    assert lines[0] == "group 7 has the best final performance of 8 groups."
    assert lines[1].startswith("It is better than group 0, group 1")


def test_runs_of_different_lengths_are_cut_to_the_shortest_and_it_is_said() -> None:
    runs = [run_record(1), run_record(2)]
    curves = {
        runs[0].run_id: rising_curve(runs[0].run_id, 100.0, episodes=300),
        runs[1].run_id: rising_curve(runs[1].run_id, 100.0, episodes=150),
    }
    found = compared(curves, ("a", [runs[0]]), ("b", [runs[1]]))
    assert found.grid[-1] == 15_000
    assert found.warnings == (
        "Cut to 15,000 steps, where run-seed2 ends; the longest run has 30,000.",
    )
    # The longer run is judged where the shorter one ended, not where it itself did.
    assert found.groups[0].final.iqm.value < 90


def test_a_run_that_failed_early_does_not_count_and_is_named() -> None:
    failed = run_record(
        3, outcome=Outcome.FAILED, failure=FailureReason(FailureKind.EXIT_CODE, "it crashed")
    )
    runs = [run_record(1), run_record(2), failed]
    curves = {run.run_id: rising_curve(run.run_id, 100.0) for run in runs}
    curves[failed.run_id] = rising_curve(failed.run_id, 100.0, episodes=30)
    found = compared(curves, ("a", runs))
    assert found.groups[0].seeds == 2
    assert "1 of 3 runs of a not counted" in found.warnings[0]
    assert "failed at step 3,000 (it crashed)" in found.groups[0].runs[2].remark
    assert found.groups[0].runs[2].final is None


def test_a_run_that_failed_at_its_very_end_counts() -> None:
    runs = [run_record(1), run_record(2, outcome=Outcome.FAILED)]
    curves = {run.run_id: rising_curve(run.run_id, 100.0) for run in runs}
    assert compared(curves, ("a", runs)).groups[0].seeds == 2


def test_empty_and_diverged_runs_do_not_count() -> None:
    runs = [run_record(n) for n in (1, 2, 3)]
    diverged = rising_curve(runs[1].run_id, 100.0)
    diverged.values[-120:] = np.nan
    curves = {
        runs[0].run_id: rising_curve(runs[0].run_id, 100.0),
        runs[1].run_id: diverged,
        runs[2].run_id: Curve.of(runs[2].run_id, [], []),
    }
    found = compared(curves, ("a", [runs[0]]), ("b", runs[1:]))
    assert [group.label for group in found.groups] == ["a"]
    assert "b is left out" in found.warnings[0]
    assert "its last values are not numbers" in found.warnings[0]
    assert "no value" in found.warnings[0]


def test_when_no_run_has_a_value_there_is_nothing_to_compare() -> None:
    run = run_record(1)
    for values in ([], [np.nan, np.inf]):
        curve = Curve.of(run.run_id, np.arange(float(len(values))), values)
        with pytest.raises(RequestError, match="None of the runs has values of episodic return"):
            compared({run.run_id: curve}, ("a", [run]))


def test_runs_that_are_not_over_are_taken_as_far_as_they_are() -> None:
    live = run_record(1, outcome=None, state=RunState.EXEC)
    found = compared({live.run_id: rising_curve(live.run_id, 9.0)}, ("a", [live]))
    assert "Not over yet, taken as far as they are: run-seed1." in found.warnings
    assert found.groups[0].runs[0].outcome == "not over"


def test_other_environments_are_refused_and_other_versions_are_said() -> None:
    one, other = run_record(1), run_record(2, env_id="Acrobot-v1")
    curves = {run.run_id: rising_curve(run.run_id, 9.0) for run in (one, other)}
    with pytest.raises(RequestError, match="2 environments and cannot be compared") as refusal:
        compared(curves, ("a", [one]), ("b", [other]))
    assert refusal.value.details["field"] == "env_id"
    newer = run_record(2, env_id="CartPole-v0")
    found = compared(curves, ("a", [one]), ("b", [newer]))
    assert "CartPole-v1 and CartPole-v0 are different versions" in found.warnings[0]


def test_a_run_ends_where_it_ended_not_with_its_last_episode() -> None:
    runs = [run_record(n, progress=Progress(steps=10_000)) for n in (1, 2)]
    curves = {
        runs[0].run_id: Curve.of(runs[0].run_id, [5_000.0, 9_500.0], [1.0, 2.0]),
        runs[1].run_id: Curve.of(runs[1].run_id, [4_000.0, 9_990.0], [1.0, 2.0]),
    }
    ended = with_ends([RunGroup("a", tuple(runs))], curves)
    found = compared(ended, ("a", runs))
    assert found.grid[-1] == 10_000 and not found.warnings
    # What counts evaluations instead of steps has an end of its own.
    counted = {run.run_id: Curve.of(run.run_id, [1.0, 2.0], [1.0, 2.0]) for run in runs}
    assert with_ends([RunGroup("a", tuple(runs))], counted) == counted


def test_constant_returns_are_no_trouble() -> None:
    runs = [run_record(n) for n in range(6)]
    curves = {
        run.run_id: Curve.of(run.run_id, np.arange(50.0) * 200, np.full(50, -200.0)) for run in runs
    }
    found = compared(curves, ("a", runs[:3]), ("b", runs[3:]))
    assert found.groups[0].final.iqm.low == found.groups[0].final.iqm.high == -200.0
    assert not found.pairs[0].is_told_apart


def test_a_run_with_a_single_value_can_be_compared() -> None:
    runs = [run_record(1), run_record(2)]
    curves = {run.run_id: Curve.of(run.run_id, [100.0], [float(n)]) for n, run in enumerate(runs)}
    found = compared(curves, ("a", [runs[0]]), ("b", [runs[1]]))
    assert len(found.grid) == 1 and found.groups[1].final.iqm.value == 1.0


def test_a_hundred_runs_in_two_groups() -> None:
    rng = np.random.default_rng(0)
    found = sample_comparison([list(rng.normal(400, 20, 50)), list(rng.normal(300, 20, 50))])
    assert found.pairs[0].is_told_apart and found.pairs[0].test == "Mann-Whitney test"


def test_a_loss_is_better_when_it_is_lower() -> None:
    question = Question("losses/value", 100, is_lower_better=True, unit="value")
    found = sample_comparison([[5.0] * 5, [9.0] * 5], question=question)
    assert found.best.label == "group 0"
    assert found.headlines()[0].startswith("group 0 is better than group 1")
