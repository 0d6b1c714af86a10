from __future__ import annotations

import math
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.client.calls import joined
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.telemetry import series as series_module
from mosaic.telemetry.series import bucketed_series, metric_infos, point_series
from mosaic.telemetry.store.reader import reading
from tests import journal_lines as lines
from tests.older_stores import make_older
from tests.unit.telemetry.curve_samples import (
    Point,
    Reported,
    finite,
    mean,
    reported,
    stored,
)

Steps = tuple[int | None, int | None]


def asked(path: Path, name: str, steps: Steps, buckets: int) -> MetricSeries:
    with reading(path) as store:
        assert store is not None
        return bucketed_series(store, name, *steps, buckets)


def paged(path: Path, name: str, steps: Steps, limit: int) -> MetricSeries:
    """All points, put together from pages."""
    pages: list[MetricSeries] = []
    cursor = 0
    with reading(path) as store:
        assert store is not None
        while not pages or cursor:
            pages.append(point_series(store, name, *steps, cursor, limit))
            cursor = pages[-1].next_cursor
    assert all(len(page.means) == limit for page in pages[:-1])
    assert len({page.points for page in pages}) == 1
    return joined(pages)


def is_inside(point: Point, steps: Steps) -> bool:
    first, last = steps
    return (first is None or point.step >= first) and (last is None or point.step <= last)


def assert_is_points(series: MetricSeries, points: list[Point]) -> None:
    assert series.points == len(points)
    assert series.first_steps == series.last_steps == tuple(point.step for point in points)
    values = [point.value for point in points]
    for column in (series.means, series.lows, series.highs):
        assert list(column) == pytest.approx(values, rel=0, nan_ok=True)
    assert series.counts == (1,) * len(points)
    assert series.timestamps == tuple(point.timestamp for point in points)


def assert_sums_up(series: MetricSeries, points: list[Point], is_rising: bool) -> None:
    """Every point is in one bucket, and no bucket says what its points do not."""
    assert series.points == sum(series.counts) == len(points)
    values = finite(points)
    lows = [low for low in series.lows if not math.isnan(low)]
    highs = [high for high in series.highs if not math.isnan(high)]
    assert min(lows, default=None) == min(values, default=None)
    assert max(highs, default=None) == max(values, default=None)
    assert min(series.first_steps) == min(point.step for point in points)
    assert max(series.last_steps) == max(point.step for point in points)
    assert max(series.timestamps) == max(point.timestamp for point in points)
    for low, average, high in zip(series.lows, series.means, series.highs, strict=True):
        assert low <= average <= high or math.isnan(average)
    if is_rising:
        assert_each_bucket_sums_up(series, points)


def assert_each_bucket_sums_up(series: MetricSeries, points: list[Point]) -> None:
    place = 0
    for number, count in enumerate(series.counts):
        inside = points[place : place + count]
        place += count
        assert (series.first_steps[number], series.last_steps[number]) == (
            inside[0].step,
            inside[-1].step,
        )
        values = finite(inside) or [math.nan]
        assert series.lows[number] == pytest.approx(min(values), rel=0, nan_ok=True)
        assert series.highs[number] == pytest.approx(max(values), rel=0, nan_ok=True)
        if not any(abs(value) > 1e299 for value in values):
            assert series.means[number] == pytest.approx(
                mean(inside), rel=1e-9, abs=1e-12, nan_ok=True
            )
        assert series.timestamps[number] == inside[-1].timestamp


@settings(max_examples=80, deadline=None)
@given(reported(), st.data())
def test_every_range_in_any_number_of_buckets_is_what_its_points_say(
    written: Reported, data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory(prefix="mosaic-series-") as folder:
        path = stored(Path(folder), written.lines)
        is_old = data.draw(st.booleans(), "without pyramid")
        if is_old:
            make_older(path, 1)
        for _ in range(8):
            name = data.draw(st.sampled_from([*written.curves, "no such metric"]), "name")
            curve = written.curves.get(name, [])
            known = sorted(point.step for point in curve) or [0]
            step = st.none() | st.sampled_from(known) | st.integers(-(2**60), 2**60)
            steps = (data.draw(step, "first step"), data.draw(step, "last step"))
            buckets = data.draw(st.sampled_from([1, 2, 7, 100, 1000]), "buckets")
            points = [point for point in curve if is_inside(point, steps)]
            series = asked(path, name, steps, buckets)
            assert series.run_id == lines.RUN_ID
            assert len(series.counts) <= buckets
            if len(points) <= buckets:
                assert_is_points(series, points)
            else:
                assert_sums_up(series, points, written.is_rising)
            limit = data.draw(st.sampled_from([50, 10_000]), "page")
            assert_is_points(paged(path, name, steps, limit), points)


def test_a_long_curve_is_told_in_even_buckets_without_losing_a_spike(tmp_path: Path) -> None:
    written = Reported()
    count = 40_000
    for step in range(count):
        value = {12_345: 99.0, 30_001: -99.0}.get(step, float(step % 7))
        written.point("loss", step * 10, value)
    path = stored(tmp_path, written.lines)
    whole = asked(path, "loss", (None, None), 500)
    assert len(whole.counts) == 500
    assert max(whole.counts) <= 3 * count / 500
    assert (max(whole.highs), min(whole.lows)) == (99.0, -99.0)
    assert_sums_up(whole, written.curves["loss"], is_rising=True)
    zoomed = asked(path, "loss", (123_000, 124_000), 500)
    assert_is_points(zoomed, written.curves["loss"][12_300:12_401])


def test_a_quiet_stretch_after_a_busy_one_keeps_its_shape(tmp_path: Path) -> None:
    written = Reported()
    for step in range(10_000):
        written.point("return", step, 1.0)
    for number in range(1, 100):
        written.point("return", 10_000 + number * 10_000, float(number))
    path = stored(tmp_path, written.lines)
    series = asked(path, "return", (None, None), 200)
    assert series.means[-99:] == tuple(float(number) for number in range(1, 100))


def test_steps_that_run_to_and_fro_are_summed_up_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With fewer buckets split than could be, and with more stretches than can be told apart."""
    written = Reported()
    for number in range(6_000):
        written.point("loss", number * 7919 % 100, math.sin(number))
    path = stored(tmp_path, written.lines)
    points = [point for point in written.curves["loss"] if 10 <= point.step <= 80]
    for limits in ({}, {"MAX_WIDE": 3}, {"MAX_RUNS": 0}):
        for name, value in limits.items():
            monkeypatch.setattr(series_module, name, value)
        series = asked(path, "loss", (10, 80), 50)
        assert len(series.counts) <= 50
        assert_sums_up(series, points, is_rising=False)
        assert_is_points(paged(path, "loss", (10, 80), 700), points)


def test_the_mean_of_the_largest_numbers_is_none_of_their_infinite_sums(tmp_path: Path) -> None:
    written = Reported()
    for step in range(1000):
        written.point("loss", step, 1.7e308 if step < 500 else -1.7e308)
    series = asked(stored(tmp_path, written.lines), "loss", (None, None), 10)
    assert series.means[0] == 1.7e308
    assert series.means[-1] == -1.7e308


def test_a_gap_in_a_curve_has_no_buckets(tmp_path: Path) -> None:
    written = Reported()
    for step in (*range(100), *range(1000, 1100)):
        written.point("loss", step, 1.0)
    path = stored(tmp_path, written.lines)
    assert asked(path, "loss", (200, 900), 10).points == 0
    assert paged(path, "loss", (200, 900), 10).points == 0


def test_steps_may_be_as_far_apart_as_steps_can_be(tmp_path: Path) -> None:
    written = Reported()
    farthest = 2**53 - 1
    for step in (-farthest, *range(-500, 500), farthest - 1, farthest):
        written.point("loss", step, float(step))
    path = stored(tmp_path, written.lines)
    for buckets in (1, 2, 3, 7, 1000):
        series = asked(path, "loss", (None, None), buckets)
        assert len(series.counts) <= buckets
        assert_sums_up(series, written.curves["loss"], is_rising=True)


@pytest.mark.parametrize("is_old", [False, True])
def test_metrics_are_listed_with_their_range_and_last_value(tmp_path: Path, is_old: bool) -> None:
    written = Reported()
    for step in range(70):
        written.point("b", -step, float(step))
    written.point("a", 5, math.nan)
    path = stored(tmp_path, written.lines)
    if is_old:
        make_older(path, 1)
    with reading(path) as store:
        assert store is not None
        first, second = metric_infos(store, 10)
        assert [info.name for info in metric_infos(store, 1)] == ["a"]
    assert (first.name, first.points, first.first_step, first.last_step) == ("a", 1, 5, 5)
    assert math.isnan(first.last_value)
    assert second == MetricInfo("b", 70, -69, 0, 69.0)
