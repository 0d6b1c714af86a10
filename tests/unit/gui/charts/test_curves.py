"""From what the daemon answers to curves."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from mosaic.contracts.metrics import MetricSeries
from mosaic.gui.charts.model.curve import (
    Curve,
    band_of,
    csv_text,
    file_stem,
    followed,
    numbers,
    on_axis,
    panned,
    reading_at,
    smoothed,
    window_of,
    x_range,
    y_range,
    zoomed,
)
from mosaic.gui.charts.model.picture import (
    NOT_RECORDED,
    ChartOptions,
    ChartPicture,
    Evaluations,
    PictureRequest,
    RunLook,
    XAxis,
    line_of,
    options_from,
    picture_of,
    seed_groups,
    steps_between,
    with_detail,
)

RETURN = "charts/episodic_return"


def series(
    values: list[float], run_id: str = "a", steps: list[int] | None = None, per_point: int = 1
) -> MetricSeries:
    at = tuple(steps or [10 * (place + 1) for place in range(len(values))])
    return MetricSeries(
        run_id,
        RETURN,
        first_steps=tuple(step - per_point + 1 for step in at),
        last_steps=at,
        means=tuple(values),
        lows=tuple(value - 1 for value in values),
        highs=tuple(value + 1 for value in values),
        counts=(per_point,) * len(values),
        timestamps=tuple(1000.0 + place for place in range(len(values))),
        points=per_point * len(values),
    )


def picture(
    found: list[MetricSeries], options: ChartOptions | None = None, **more: object
) -> ChartPicture:
    groups = more.pop("groups", {})
    assert isinstance(groups, dict)
    looks = tuple(
        RunLook(item.run_id, f"run {item.run_id}", "#0072b2", groups.get(item.run_id, ""), 999.0)
        for item in found
    )
    return picture_of(
        PictureRequest(
            RETURN,
            options or ChartOptions(smoothing=0),
            looks,
            {item.run_id: item for item in found},
            **more,  # type: ignore[arg-type]
        )
    )


# Smoothing


def test_a_smoothed_value_is_the_mean_of_the_window_before_it() -> None:
    xs, values = numbers([0.0, 10.0, 20.0, 30.0]), numbers([1.0, 2.0, 3.0, 8.0])
    found = smoothed(xs, values, numbers([1, 1, 1, 3]), 20.0)
    assert found.tolist() == pytest.approx([1.0, 1.5, 2.0, (2 + 3 + 24) / 5])


def test_the_window_is_a_share_of_the_whole_curve() -> None:
    assert window_of(0.0, 1000.0, 50) == 0.0
    assert window_of(0.5, 1000.0, 21) == pytest.approx(100.0)
    # However long, a curve is not smoothed finer than that; nor wider than it is.
    assert window_of(0.5, 1000.0, 10**7) == pytest.approx(2000 / 999)
    assert window_of(0.99, 1000.0, 10) == 1000.0


def test_smoothing_of_a_constant_changes_nothing() -> None:
    xs = numbers(range(50))
    assert smoothed(xs, numbers([4.0] * 50), numbers([1] * 50), 9.0).tolist() == [4.0] * 50


def test_gaps_are_not_smoothed_over_or_remembered() -> None:
    found = smoothed(numbers([0, 1, 2]), numbers([2.0, math.nan, 4.0]), numbers([1, 1, 1]), 9.0)
    assert found[[0, 2]].tolist() == [2.0, 3.0] and math.isnan(found[1])


def test_a_smoothed_value_does_not_change_with_zoom() -> None:
    chance = random.Random(3)
    values = [chance.gauss(0, 1) for _ in range(4_000)]
    whole = bucketed(values, 100)
    options = ChartOptions(smoothing=0.9)
    seen = {}
    for detail in (None, (1_000, 1_400), (3_000, 3_999)):
        request = PictureRequest(
            "loss",
            options,
            (RunLook("r", "r", "#ffffff"),),
            {"r": whole},
            {} if detail is None else {"r": bucketed(values, 100, *detail)},
            detail,
        )
        (curve,) = picture_of(request).curves
        seen[detail] = dict(zip(curve.xs.tolist(), curve.ys.tolist(), strict=True))
        assert curve.legend_value == pytest.approx(seen[None][3_999.0], abs=0)
    assert len(seen[1_000, 1_400]) > 100
    for zoomed_in in seen.values():
        for x in seen[None].keys() & zoomed_in.keys():
            assert zoomed_in[x] == pytest.approx(seen[None][x], abs=1e-12)


def test_the_legend_of_returns_says_the_mean_everybody_says() -> None:
    look = RunLook("r", "r", "#ffffff", mean_return=12.5)
    of_returns = PictureRequest(
        "episodic_return", ChartOptions(), (look,), {"r": bucketed([1.0], 1)}
    )
    (curve,) = picture_of(of_returns).curves
    assert (curve.legend_value, curve.value_name) == (12.5, "mean of the last 100 episodes")
    other = PictureRequest(
        "loss", ChartOptions(smoothing=0), (look,), {"r": bucketed([1.0, 3.0], 2)}
    )
    (curve,) = picture_of(other).curves
    assert (curve.legend_value, curve.value_name) == (3.0, "last value")


def bucketed(
    values: list[float], buckets: int, first: int = 0, last: int | None = None
) -> MetricSeries:
    """The values are at steps 0, 1, 2, …"""
    steps = list(range(len(values)))[first : None if last is None else last + 1]
    size = max(1, len(steps) // buckets)
    parts = [steps[at : at + size] for at in range(0, len(steps), size)]
    means = tuple(sum(values[step] for step in part) / len(part) for part in parts)
    return MetricSeries(
        "r",
        "loss",
        first_steps=tuple(part[0] for part in parts),
        last_steps=tuple(part[-1] for part in parts),
        means=means,
        lows=means,
        highs=means,
        counts=tuple(len(part) for part in parts),
        timestamps=tuple(float(part[-1]) for part in parts),
        points=len(steps),
    )


def test_a_band_is_the_interquartile_mean_between_lowest_and_highest() -> None:
    xs = numbers([0.0, 10.0])
    lines = [(xs, numbers([value, value])) for value in (0.0, 1.0, 2.0, 100.0)]
    band = band_of(lines, points=3)
    assert band.xs.tolist() == [0.0, 5.0, 10.0]
    assert band.middle.tolist() == [1.5] * 3
    assert band.lows.tolist() == [0.0] * 3 and band.highs.tolist() == [100.0] * 3


def test_a_band_ends_where_fewer_than_half_of_the_seeds_go_on() -> None:
    lines = [(numbers([0.0, end]), numbers([1.0, 1.0])) for end in (10.0, 20.0, 30.0)]
    assert band_of(lines).xs[-1] == 20.0


def test_seeds_without_a_value_do_not_count() -> None:
    lines = [
        (numbers([0.0, 10.0]), numbers([1.0, 1.0])),
        (numbers(), numbers()),
        (numbers([0.0]), numbers([math.nan])),
    ]
    assert band_of(lines).middle.tolist()[0] == 1.0
    assert len(band_of([]).xs) == 0


def test_seeds_that_share_no_steps_have_no_band() -> None:
    lines = [
        (numbers([0.0, 1.0]), numbers([1.0, 1.0])),
        (numbers([5.0, 6.0]), numbers([1.0, 1.0])),
    ]
    assert len(band_of(lines).xs) == 0


# Lines


def test_a_line_is_over_steps_time_or_episodes() -> None:
    given = series([1.0, 2.0], per_point=3)
    assert line_of(given, XAxis.STEPS, None).xs.tolist() == [10.0, 20.0]
    assert line_of(given, XAxis.TIME, 990.0).xs.tolist() == [10.0, 11.0]
    assert line_of(given, XAxis.TIME, None).xs.tolist() == [0.0, 1.0]
    assert line_of(given, XAxis.EPISODES, None).xs.tolist() == [3.0, 6.0]


def test_a_resumed_run_is_drawn_in_the_order_of_its_steps() -> None:
    line = line_of(series([1.0, 2.0, 3.0], steps=[10, 30, 20]), XAxis.STEPS, None)
    assert line.xs.tolist() == [10.0, 20.0, 30.0]
    assert line.means.tolist() == [1.0, 3.0, 2.0]


def test_the_part_in_sight_takes_the_place_of_the_coarse_one() -> None:
    whole = series([1.0, 2.0, 3.0, 4.0], per_point=10)
    detail = series([7.0, 8.0], steps=[15, 25])
    joined = with_detail(whole, detail, 11, 30)
    assert joined.last_steps == (10, 15, 25, 40)
    assert joined.means == (1.0, 7.0, 8.0, 4.0)
    assert with_detail(whole, None, 11, 30) is whole


def test_a_range_of_time_is_asked_for_in_steps() -> None:
    line = line_of(series([1.0] * 5), XAxis.TIME, 1000.0)
    assert steps_between(line, 1.0, 2.0) == (10, 40)  # with a neighbour on either side
    assert steps_between(line, 1.2, 1.4) == (20, 30)
    assert steps_between(line, 50.0, 60.0) is None


# Pictures


def test_each_run_is_a_curve_in_its_colour_with_its_raw_values_behind() -> None:
    found = picture([series([1.0, 5.0])], ChartOptions(smoothing=0.5))
    (curve,) = found.curves
    assert (curve.label, curve.colour, curve.id) == ("run a", "#0072b2", "a")
    assert curve.faint is not None and curve.faint.tolist() == [1.0, 5.0]
    assert curve.ys.tolist() == pytest.approx([1.0, 3.0])
    assert found.x_title == "steps" and found.y_title == "episodic return"


def test_seeds_become_one_curve_only_when_asked() -> None:
    given = [series([1.0, 1.0], "a"), series([3.0, 3.0], "b"), series([9.0, 9.0], "c")]
    groups = {"a": "sweep", "b": "sweep"}
    banded = picture(given, ChartOptions(smoothing=0), groups=groups)
    assert [(curve.label, curve.is_band) for curve in banded.curves] == [
        ("sweep", True),
        ("run c", False),
    ]
    assert banded.curves[0].note == "2 seeds"
    assert banded.curves[0].ys[0] == 2.0
    apart = picture(given, ChartOptions(smoothing=0, seeds_as_band=False), groups=groups)
    assert [curve.id for curve in apart.curves] == ["a", "b", "c"]


def test_the_legend_of_seeds_says_what_the_table_says_of_their_group() -> None:
    looks = tuple(
        RunLook(id, id, "#ffffff", "g", mean_return=mean) for id, mean in (("a", 10.0), ("b", 20.0))
    )
    given = {"a": series([1.0, 1.0], "a"), "b": series([3.0, 3.0], "b")}
    (band,) = picture_of(PictureRequest("episodic_return", ChartOptions(), looks, given)).curves
    assert band.legend_value == 15.0
    assert band.value_name == "mean over the seeds of the mean of the last 100 episodes"
    (other,) = picture_of(PictureRequest("losses/x", ChartOptions(), looks, given)).curves
    assert other.legend_value == 2.0


def test_groups_of_one_are_no_seeds() -> None:
    looks = [RunLook("a", "a", "#000000", "g"), RunLook("b", "b", "#000000", "h")]
    assert seed_groups(looks) == 0
    assert seed_groups([*looks, RunLook("c", "c", "#000000", "h")]) == 1


def test_a_run_without_the_metric_says_so() -> None:
    found = picture([series([1.0], "a"), series([], "b")])
    assert [curve.note for curve in found.curves] == ["", NOT_RECORDED]
    assert not found.is_empty
    assert picture([series([])]).is_empty


def test_values_that_are_no_numbers_are_gaps_and_told() -> None:
    found = picture([series([1.0, math.nan, math.inf, 2.0])])
    assert np.isfinite(found.curves[0].ys).tolist() == [True, False, False, True]
    assert "2 values are no numbers" in found.remarks[0]


def test_what_a_log_axis_cannot_show_is_told() -> None:
    found = picture([series([-1.0, 0.0, 2.0])], ChartOptions(smoothing=0, is_log_y=True))
    assert "2 values are zero or negative" in found.remarks[0]


def test_episodes_that_cannot_be_counted_fall_back_to_steps() -> None:
    looks = (RunLook("a", "a", "#000000"),)
    options = ChartOptions(x_axis=XAxis.EPISODES)
    found = picture_of(PictureRequest("losses/loss", options, looks, {"a": series([1.0])}))
    assert found.axis is XAxis.STEPS
    assert "shown over steps" in found.remarks[0]


def test_evaluations_are_markers_on_the_curve() -> None:
    given = {"a": Evaluations(numbers([20.0]), numbers([7.0]))}
    found = picture([series([1.0, 2.0, 3.0])], evaluations=given)
    assert found.curves[0].marker_xs.tolist() == [20.0]
    over_time = picture(
        [series([1.0, 2.0, 3.0])],
        ChartOptions(smoothing=0, x_axis=XAxis.TIME),
        evaluations=given,
    )
    assert over_time.curves[0].marker_xs.tolist() == [2.0]  # a second after each other, from 999
    assert over_time.x_title == "wall time (s)"


def test_envelopes_of_many_runs_are_left_out() -> None:
    given = [series([1.0, 2.0], str(number), per_point=5) for number in range(10)]
    assert all(curve.lows is None for curve in picture(given).curves)
    assert picture(given[:2]).curves[0].lows is not None


# Reading and room


def curve(xs: list[float], ys: list[float]) -> Curve:
    return Curve("one", "#0072b2", numbers(xs), numbers(ys))


def test_the_nearest_point_is_read() -> None:
    line = curve([0, 10, 20], [1, 2, math.nan])
    assert reading_at(line, 6) == (10, 2)
    assert reading_at(line, 4) == (0, 1)
    assert reading_at(line, 19) is None  # a gap
    assert reading_at(line, 40) is None  # beside it
    assert reading_at(curve([5], [3]), 100) == (5, 3)
    assert reading_at(curve([], []), 1) is None


@pytest.mark.parametrize("is_log", [False, True])
@pytest.mark.parametrize("values", [[], [3.0], [3.0, 3.0], [0.0], [-1.0, -2.0], [1.0, 1e9]])
def test_there_is_always_room_of_some_height(values: list[float], is_log: bool) -> None:
    line = curve([float(place) for place in range(len(values))], values)
    for low, high in (x_range([line], is_log), y_range([line], is_log)):
        assert math.isfinite(low) and math.isfinite(high) and low < high


@pytest.mark.parametrize("value", [500.0, -500.0, 1e-7, 3e12])
def test_a_constant_curve_is_not_magnified_to_the_last_digit(value: float) -> None:
    # A mean of equal numbers is off by its last digit, and so is a smoothed curve.
    values = [value, math.nextafter(value, 0), value * (1 + 2e-15)]
    low, high = y_range([curve([0, 1, 2], values)], False)
    assert high - low == pytest.approx(abs(value) * 0.2)
    assert low < value < high


def test_heights_fit_what_is_in_sight() -> None:
    line = curve([0, 10, 20, 30], [0, 1, 2, 100])
    low, high = y_range([line], False, (5, 25))
    assert low < 1 and 2 < high < 3
    low, high = y_range([line], False, (21, 29))
    assert low < 2 and high > 100  # the line that joins the two


def test_a_log_axis_has_no_place_for_zero() -> None:
    assert on_axis(numbers([100.0]), True).tolist() == [2.0]
    assert np.isnan(on_axis(numbers([0.0, -1.0, math.nan]), True)).all()


def test_a_range_that_shows_the_end_moves_on_with_it() -> None:
    assert followed((50, 100), 100, 130) == (80, 130)
    assert followed((50, 100), 90, 95) == (50, 100)
    assert followed((10, 20), 100, 130) == (10, 20)


def test_zooming_out_far_enough_shows_everything() -> None:
    assert zoomed((0, 100), 0.5, 50, (0, 100)) == (25, 75)
    assert zoomed((25, 75), 4, 50, (0, 100)) is None
    assert panned((25, 75), 50, (0, 100)) == (50, 100)
    assert panned((25, 75), -5, (0, 100)) == (20, 70)


# Options and tables


def test_options_survive_settings_that_make_no_sense() -> None:
    assert options_from({}) == ChartOptions()
    odd = {"smoothing": "much", "x_axis": "weight", "is_log_y": "true", "is_following": "False"}
    assert options_from(odd) == ChartOptions(is_log_y=True, is_following=False)
    assert options_from({"smoothing": "7"}).smoothing == 0.99
    assert options_from({"smoothing": "nan"}).smoothing == ChartOptions().smoothing


def test_the_table_has_every_point_and_evaluation() -> None:
    line = Curve(
        'run, "one"',
        "#000000",
        numbers([1, 2]),
        numbers([0.5, math.nan]),
        faint=numbers([0.25, 1]),
        marker_xs=numbers([2]),
        marker_ys=numbers([9]),
    )
    assert csv_text([line], "steps").splitlines() == [
        "curve,steps,value,low,high,before_smoothing",
        '"run, ""one""",1,0.5,,,0.25',
        '"run, ""one""",2,,,,1',
        '"run, ""one"" (evaluation)",2,9,,,',
    ]


def test_no_name_of_a_curve_is_a_formula_in_the_table() -> None:
    line = Curve(
        "=1+1",
        "#000000",
        numbers([-1]),
        numbers([-0.5]),
        marker_xs=numbers([2]),
        marker_ys=numbers([-9]),
    )
    assert csv_text([line], "@steps").splitlines() == [
        "curve,'@steps,value,low,high,before_smoothing",
        "'=1+1,-1,-0.5,,,",
        "'=1+1 (evaluation),2,-9,,,",
    ]


def test_any_metric_gives_a_file_name() -> None:
    assert file_stem("charts/episodic_return") == "charts-episodic_return"
    assert file_stem("../..") == "chart"
