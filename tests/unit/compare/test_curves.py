"""Smoothing, the common grid, and curves that are short, empty or no numbers."""

from __future__ import annotations

import numpy as np
import pytest

from mosaic.compare.curves import (
    Curve,
    common_range,
    has_diverged,
    mean_over_range,
    smoothed,
    step_grid,
)
from mosaic.errors import RequestError


def test_smoothing_is_the_mean_of_the_window_before_each_step() -> None:
    rng = np.random.default_rng(3)
    steps = np.sort(rng.integers(0, 1000, 200)).astype(float)
    values, weights = rng.normal(size=200), rng.integers(1, 5, 200).astype(float)
    curve = Curve.of("r", steps, values, weights)
    grid = np.linspace(100, 1000, 50)
    for at, got in zip(grid, smoothed(curve, grid, 60.0), strict=True):
        inside = (curve.steps > at - 60.0) & (curve.steps <= at)
        assert np.isclose(got, np.average(curve.values[inside], weights=curve.weights[inside]))


def test_where_nothing_was_measured_the_latest_value_holds_and_nothing_before_the_first() -> None:
    curve = Curve.of("r", [10.0, 500.0], [1.0, 7.0])
    found = smoothed(curve, np.array([5.0, 10.0, 300.0, 500.0, 900.0]), 50.0)
    assert np.isnan(found[0])
    assert found[1:].tolist() == [1.0, 1.0, 7.0, 7.0]


def test_points_that_are_no_numbers_are_passed_over() -> None:
    curve = Curve.of("r", [1.0, 2.0, 3.0], [1.0, np.nan, 3.0])
    assert smoothed(curve, np.array([3.0]), 10.0)[0] == 2.0


def test_points_come_into_the_order_of_their_steps() -> None:
    assert Curve.of("r", [3.0, 1.0, 2.0], [30.0, 10.0, 20.0]).values.tolist() == [10, 20, 30]


def test_the_common_range_is_from_the_latest_begin_to_the_earliest_end() -> None:
    curves = [Curve.of("a", [1.0, 90.0], [0.0, 0.0]), Curve.of("b", [5.0, 50.0], [0.0, 0.0])]
    assert common_range(curves) == (5.0, 50.0)
    assert common_range([Curve.of("c", [7.0], [1.0])] * 2) == (7.0, 7.0)
    assert step_grid(7.0, 7.0).tolist() == [7.0]


def test_runs_that_share_no_steps_are_refused_by_name() -> None:
    curves = [Curve.of("short", [1.0, 50.0], [0.0, 0.0]), Curve.of("late", [70.0], [0.0])]
    with pytest.raises(RequestError, match=r"short ends at step 50, .* of late at step 70"):
        common_range(curves)


def test_the_area_of_a_straight_line_is_its_middle() -> None:
    grid = np.linspace(0.0, 10.0, 11)
    assert np.allclose(mean_over_range(np.stack([grid, 2 * grid]), grid), [5.0, 10.0])
    assert mean_over_range(np.array([[4.0]]), np.array([3.0])).tolist() == [4.0]


def test_a_run_has_diverged_when_most_of_its_end_is_no_number() -> None:
    assert has_diverged(np.array([1.0, np.nan, np.inf]))
    assert not has_diverged(np.array([1.0, 1.0, np.nan]))
    assert not has_diverged(np.array([]))


def test_runs_without_a_common_step_are_named() -> None:
    curves = [Curve.of("1", [1.0, 2.0], [0.0, 0.0]), Curve.of("2", [5.0, 6.0], [0.0, 0.0])]
    with pytest.raises(RequestError, match="short ends at step 2, before the first value of late"):
        common_range(curves, {"1": "short", "2": "late"})
