"""One curve of a run that was resumed."""

from __future__ import annotations

import pytest

from mosaic.contracts.ancestry import Ancestor
from mosaic.contracts.metrics import MetricSeries
from mosaic.gui.charts.model.curve import numbers
from mosaic.gui.charts.model.picture import (
    ChartOptions,
    ChartPicture,
    Evaluations,
    PictureRequest,
    RunLook,
    XAxis,
    picture_of,
)


def series(run_id: str, steps: range, value: float, began: float) -> MetricSeries:
    """One episode at each of these steps, a second for every step."""
    count = len(steps)
    values, at = (value,) * count, tuple(steps)
    times = tuple(began + step - steps[0] + 1 for step in steps)
    return MetricSeries(run_id, "m", at, at, values, values, values, (1,) * count, times, count)


PARENT = Ancestor("a", "run a", 5, started_at=100.0, finished_at=130.0)
CHILD = RunLook("b", "run b", "#ffffff", started_at=1000.0, ancestors=(PARENT,))
OWN = series("b", range(6, 11), 2.0, 1000.0)
BEFORE = {PARENT: series("a", range(1, 9), 1.0, 100.0)}  # it went on after its checkpoint


def picture(*runs: RunLook, **changes: object) -> ChartPicture:
    options = {
        "smoothing": 0.0,
        **{key: changes.pop(key) for key in list(changes) if hasattr(ChartOptions, key)},
    }
    request = {"series": {"b": OWN}, "before": BEFORE, **changes}
    return picture_of(PictureRequest("episodic_return", ChartOptions(**options), runs, **request))  # type: ignore[arg-type]


def test_a_resumed_run_shows_what_it_continues_up_to_its_checkpoint() -> None:
    (curve,) = picture(CHILD).curves
    assert curve.xs.tolist() == list(range(1, 11))
    assert curve.ys.tolist() == [1.0] * 5 + [2.0] * 5
    assert curve.joints.tolist() == [5] and curve.label == "run b"


def test_switched_off_it_begins_where_it_was_resumed() -> None:
    (curve,) = picture(CHILD, from_the_start=False).curves
    assert curve.xs.tolist() == list(range(6, 11)) and not len(curve.joints)


def test_episodes_are_counted_on_and_the_time_between_two_runs_is_left_out() -> None:
    (curve,) = picture(CHILD, x_axis=XAxis.EPISODES).curves
    assert curve.xs.tolist() == list(range(1, 11)) and curve.joints.tolist() == [5]
    (curve,) = picture(CHILD, x_axis=XAxis.TIME).curves
    assert curve.xs.tolist() == pytest.approx(range(1, 11)) and curve.joints.tolist() == [5]


def test_without_a_known_step_the_parent_counts_up_to_the_first_own_point() -> None:
    parent = Ancestor("a", "run a", None, 100.0, 130.0)
    look = RunLook("b", "run b", "#ffffff", started_at=1000.0, ancestors=(parent,))
    (curve,) = picture(look, before={parent: BEFORE[PARENT]}).curves
    assert curve.xs.tolist() == list(range(1, 11))
    (curve,) = picture(look, before={parent: BEFORE[PARENT]}, series={}).curves
    assert curve.xs.tolist() == list(range(1, 9)), "it has no point of its own yet"


def test_a_metric_the_parent_does_not_have_begins_after_the_parents_time() -> None:
    (curve,) = picture(CHILD, x_axis=XAxis.TIME, before={}).curves
    assert curve.xs[0] == pytest.approx(31.0)
    assert not len(curve.joints)


def test_a_parent_that_is_shown_itself_is_not_drawn_twice() -> None:
    parent = RunLook("a", "run a", "#000000", started_at=100.0)
    found = picture(parent, CHILD, series={"a": BEFORE[PARENT], "b": OWN}).curves
    assert [curve.xs.tolist() for curve in found] == [list(range(1, 9)), list(range(6, 11))]


def test_in_a_band_a_run_and_its_continuation_are_one_seed() -> None:
    parent = RunLook("a", "run a", "#000000", "g", 100.0)
    child = RunLook("b", "run b", "#ffffff", "g", 1000.0, ancestors=(PARENT,))
    other = RunLook("c", "run c", "#ffffff", "g", 0.0)
    values = {"a": BEFORE[PARENT], "b": OWN, "c": series("c", range(1, 11), 3.0, 0.0)}
    (band,) = picture(parent, child, other, series=values).curves
    assert band.note == "2 seeds" and band.joints.tolist() == [5]
    assert band.ys[0] == pytest.approx(2.0) and band.ys[-1] == pytest.approx(2.5)


def test_evaluations_of_the_parent_belong_to_it_up_to_the_checkpoint() -> None:
    found = {"a": Evaluations(numbers([3, 8]), numbers([7.0, 9.0]))}
    (curve,) = picture(CHILD, evaluations=found).curves
    assert curve.marker_xs.tolist() == [3] and curve.marker_ys.tolist() == [7.0]


def test_details_of_the_parent_are_joined_too() -> None:
    coarse = MetricSeries("a", "m", (1,), (5,), (1.0,), (1.0,), (1.0,), (5,), (105.0,), 5)
    fine = series("a", range(2, 4), 1.5, 101.0)
    (curve,) = picture(
        CHILD, before={PARENT: coarse}, before_details={PARENT: fine}, detail_steps=(2, 3)
    ).curves
    assert curve.xs.tolist() == [2, 3, *range(6, 11)]
