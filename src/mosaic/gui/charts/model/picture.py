"""ChartPicture: the curves of one metric of several runs, made away from the window's thread."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeVar

import numpy as np

from mosaic.contracts.ancestry import Ancestor
from mosaic.contracts.joining import Joined, joined, no_points
from mosaic.contracts.metrics import EPISODIC_RETURN, MEAN_RETURN_NAME, MetricSeries
from mosaic.front.human import amount
from mosaic.gui.charts.model.curve import Curve, Numbers, band_of, numbers, smoothed, window_of
from mosaic.gui.charts.model.metrics import is_per_episode, title_of, unit_of
from mosaic.gui.charts.model.number_texts import TimeUnit, time_unit

MAX_SMOOTHING = 0.99


class XAxis(StrEnum):
    STEPS = "steps"
    TIME = "time"
    EPISODES = "episodes"


@dataclass(frozen=True)
class ChartOptions:
    """How curves are drawn, the same for all charts."""

    smoothing: float = 0.6
    x_axis: XAxis = XAxis.STEPS
    is_log_x: bool = False
    is_log_y: bool = False
    seeds_as_band: bool = True  # runs of one group become one curve
    is_following: bool = True  # a chosen range moves on with the newest point
    from_the_start: bool = True  # a resumed run's curve begins with those it continues


def options_from(values: Mapping[str, object]) -> ChartOptions:
    """Settings as they were stored; whatever makes no sense is ignored."""
    usual = ChartOptions()
    try:
        smoothing = float(str(values["smoothing"]))
    except (KeyError, ValueError):
        smoothing = usual.smoothing
    if not math.isfinite(smoothing):
        smoothing = usual.smoothing
    known = {axis.value for axis in XAxis}
    axis = str(values.get("x_axis", usual.x_axis))
    return ChartOptions(
        smoothing=min(MAX_SMOOTHING, max(0.0, smoothing)),
        x_axis=XAxis(axis) if axis in known else usual.x_axis,
        is_log_x=_flag(values.get("is_log_x"), usual.is_log_x),
        is_log_y=_flag(values.get("is_log_y"), usual.is_log_y),
        seeds_as_band=_flag(values.get("seeds_as_band"), usual.seeds_as_band),
        is_following=_flag(values.get("is_following"), usual.is_following),
        from_the_start=_flag(values.get("from_the_start"), usual.from_the_start),
    )


def _flag(value: object, usual: bool) -> bool:
    return usual if value is None else str(value).lower() in ("true", "1")


T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Line:
    """In the order of x. Every point has its step as well: the daemon is asked by steps."""

    xs: Numbers
    steps: Numbers
    means: Numbers
    lows: Numbers
    highs: Numbers
    counts: Numbers  # of values, per point
    points: int  # of the whole curve, whatever of it is told finely

    @property
    def is_bucketed(self) -> bool:
        """Whether a point stands for several."""
        return bool((self.counts > 1).any())

    @property
    def gaps(self) -> int:
        """How many values are no numbers."""
        return int(np.count_nonzero(~np.isfinite(self.means)))


def line_of(series: MetricSeries, axis: XAxis, started_at: float | None) -> Line:
    """`started_at` is where the time begins; without it, with the first point."""
    steps = numbers(series.last_steps)
    counts = numbers(series.counts)
    if axis is XAxis.TIME:
        times = numbers(series.timestamps)
        begin = started_at if started_at is not None else (times.min() if len(times) else 0.0)
        # Clocks of two machines may differ a little; nothing was measured before the start.
        xs = np.maximum(times - begin, 0.0)
    elif axis is XAxis.EPISODES:
        xs = np.cumsum(counts)
    else:
        xs = steps
    # A run that continued from a checkpoint has some steps twice.
    order = np.argsort(xs, kind="stable")
    return Line(
        xs=xs[order],
        steps=steps[order],
        means=_finite(series.means)[order],
        lows=_finite(series.lows)[order],
        highs=_finite(series.highs)[order],
        counts=counts[order],
        points=series.points,
    )


def with_detail(
    whole: MetricSeries, detail: MetricSeries | None, first: int, last: int
) -> MetricSeries:
    """The whole curve, finer between two steps."""
    if detail is None or not detail.counts:
        return whole
    before = [at for at, step in enumerate(whole.last_steps) if step < first]
    after = [at for at, step in enumerate(whole.first_steps) if step > last]

    def joined(coarse: tuple[T, ...], fine: tuple[T, ...]) -> tuple[T, ...]:
        return (*(coarse[at] for at in before), *fine, *(coarse[at] for at in after))

    return MetricSeries(
        whole.run_id,
        whole.name,
        first_steps=joined(whole.first_steps, detail.first_steps),
        last_steps=joined(whole.last_steps, detail.last_steps),
        means=joined(whole.means, detail.means),
        lows=joined(whole.lows, detail.lows),
        highs=joined(whole.highs, detail.highs),
        counts=joined(whole.counts, detail.counts),
        timestamps=joined(whole.timestamps, detail.timestamps),
        points=whole.points,
    )


def steps_between(line: Line, begin: float, end: float) -> tuple[int, int] | None:
    """Which steps a range of x shows; None where the line has nothing there."""
    if not len(line.xs):
        return None
    inside = (line.xs >= begin) & (line.xs <= end)
    if inside.any():
        places = np.flatnonzero(inside)
        low, high = max(0, places[0] - 1), min(len(line.xs) - 1, places[-1] + 1)
    else:
        at = int(np.searchsorted(line.xs, begin))
        if at in (0, len(line.xs)):
            return None
        low, high = at - 1, at
    found = line.steps[low : high + 1]
    return int(found.min()), int(found.max())


def _finite(values: tuple[float, ...]) -> Numbers:
    found = numbers(values)
    return np.where(np.isfinite(found), found, np.nan)


NOT_RECORDED = "not recorded"
# With more runs than this, what lies behind the lines would cover them.
_BACKGROUNDS = 5
_MOST_JOINTS = 8  # of a band


@dataclass(frozen=True)
class RunLook:
    """What of a run its curve needs."""

    run_id: str
    name: str
    colour: str
    group: str = ""
    started_at: float | None = None
    is_over: bool = True
    mean_return: float | None = None
    ancestors: tuple[Ancestor, ...] = ()  # whose training it continues, the oldest first


@dataclass(frozen=True, eq=False)
class Evaluations:
    """Returns measured beside the training: at which of its steps, and how much."""

    steps: Numbers
    returns: Numbers


@dataclass(frozen=True, eq=False)
class PictureRequest:
    metric: str
    options: ChartOptions
    runs: tuple[RunLook, ...]
    series: Mapping[str, MetricSeries]
    details: Mapping[str, MetricSeries] = field(default_factory=dict)
    detail_steps: tuple[int, int] | None = None
    evaluations: Mapping[str, Evaluations] = field(default_factory=dict)
    before: Mapping[Ancestor, MetricSeries] = field(default_factory=dict)
    before_details: Mapping[Ancestor, MetricSeries] = field(default_factory=dict)

    def ancestors(self, run: RunLook) -> tuple[Ancestor, ...]:
        """Whose points belong to this run's curve: not those that have one of their own."""
        if not self.options.from_the_start:
            return ()
        shown = {look.run_id for look in self.drawn}
        own = [place for place, one in enumerate(run.ancestors, 1) if one.run_id in shown]
        return run.ancestors[max(own, default=0) :]

    @functools.cached_property
    def drawn(self) -> tuple[RunLook, ...]:
        """In a band, a run and the one that continues it are one seed."""
        if not (self.options.from_the_start and self.options.seeds_as_band):
            return self.runs
        continued = {
            (one.run_id, run.group) for run in self.runs if run.group for one in run.ancestors
        }
        return tuple(run for run in self.runs if (run.run_id, run.group) not in continued)


@dataclass(frozen=True, eq=False)
class ChartPicture:
    metric: str
    options: ChartOptions
    axis: XAxis
    curves: tuple[Curve, ...]
    lines: Mapping[str, Line]  # by run, as they were measured
    remarks: tuple[str, ...]
    time: TimeUnit

    @property
    def is_empty(self) -> bool:
        return all(curve.is_empty for curve in self.curves)

    @property
    def y_title(self) -> str:
        unit = unit_of(self.metric)
        return f"{title_of(self.metric)} ({unit})" if unit else title_of(self.metric)

    @property
    def x_title(self) -> str:
        return f"wall time ({self.time.name})" if self.axis is XAxis.TIME else self.axis.value


def axis_for(metric: str, wanted: XAxis) -> XAxis:
    """Episodes can be counted only along a metric that has one point for each."""
    return XAxis.STEPS if wanted is XAxis.EPISODES and not is_per_episode(metric) else wanted


def picture_of(request: PictureRequest) -> ChartPicture:
    axis = axis_for(request.metric, request.options.x_axis)
    lines = {run.run_id: _line(request, run, axis) for run in request.drawn}
    curves = []
    for members in _bundles(request.drawn, request.options.seeds_as_band):
        if len(members) > 1:
            curves.append(_band_curve(request, members, lines, axis))
        else:
            curves.append(_run_curve(request, members[0], lines[members[0].run_id], axis))
    longest = max((float(line.xs[-1]) for line in lines.values() if len(line.xs)), default=0.0)
    return ChartPicture(
        request.metric,
        request.options,
        axis,
        tuple(curves),
        lines,
        tuple(_remarks(request, lines, axis)),
        time_unit(longest),
    )


def seed_groups(runs: Sequence[RunLook]) -> int:
    """How many groups have more than one of these runs."""
    return sum(len(members) > 1 for members in _bundles(runs, True))


def _bundles(runs: Sequence[RunLook], by_group: bool) -> list[list[RunLook]]:
    bundles: dict[str, list[RunLook]] = {}
    for run in runs:
        bundles.setdefault(run.group if by_group and run.group else run.run_id, []).append(run)
    return list(bundles.values())


def _line(request: PictureRequest, run: RunLook, axis: XAxis) -> Line:
    found = _joined(request, run, is_detailed=True)
    return line_of(found.series, axis, found.started_at)


def _whole_line(request: PictureRequest, run: RunLook, axis: XAxis) -> Line:
    """Without what is told more finely where somebody zoomed in."""
    found = _joined(request, run, is_detailed=False)
    return line_of(found.series, axis, found.started_at)


def _joined(request: PictureRequest, run: RunLook, *, is_detailed: bool) -> Joined:
    own = request.series.get(run.run_id, no_points(run.run_id, request.metric))
    before = request.before
    if is_detailed and request.detail_steps is not None:
        steps = request.detail_steps
        own = with_detail(own, request.details.get(run.run_id), *steps)
        before = {
            one: with_detail(series, request.before_details.get(one), *steps)
            for one, series in before.items()
        }
    return joined(own, run.started_at, request.ancestors(run), before)


def _joints(request: PictureRequest, run: RunLook, line: Line, axis: XAxis) -> Numbers:
    """Where the curve goes over from one run to the next, on its axis."""
    steps = _joined(request, run, is_detailed=False).joints
    if not steps or not len(line.xs):
        return numbers()
    return numbers(steps) if axis is XAxis.STEPS else _on_line(line, numbers(steps))


def _on_line(line: Line, steps: Numbers) -> Numbers:
    order = np.argsort(line.steps, kind="stable")
    return np.interp(steps, line.steps[order], line.xs[order])


def _smoothed(request: PictureRequest, run: RunLook, line: Line, axis: XAxis) -> Numbers:
    """As for the whole curve, also where more of its points are known: zooming changes nothing."""
    weight = request.options.smoothing
    if weight <= 0 or len(line.xs) < 2:
        return line.means
    whole = _whole_line(request, run, axis)
    window = window_of(weight, float(whole.xs[-1] - whole.xs[0]), whole.points)
    values = smoothed(whole.xs, whole.means, whole.counts, window)
    if np.array_equal(line.xs, whole.xs):
        return values
    known = np.isfinite(values)
    if not known.any():
        return line.means
    found = np.interp(line.xs, whole.xs[known], values[known])
    return np.where(np.isfinite(line.means), found, np.nan)


def _legend_number(request: PictureRequest, run: RunLook) -> tuple[float | None, str]:
    """What the legend says beside a run, and which number it is."""
    if request.metric == EPISODIC_RETURN and run.mean_return is not None:
        return run.mean_return, MEAN_RETURN_NAME
    return None, "last value, smoothed" if request.options.smoothing > 0 else "last value"


def _run_curve(request: PictureRequest, run: RunLook, line: Line, axis: XAxis) -> Curve:
    is_calm = len(request.drawn) <= _BACKGROUNDS
    is_smooth = request.options.smoothing > 0 and len(line.xs) > 1
    has_envelope = is_calm and line.is_bucketed
    marker_xs, marker_ys = _markers(request, run, line, axis)
    number, number_name = _legend_number(request, run)
    return Curve(
        label=run.name,
        colour=run.colour,
        xs=line.xs,
        ys=_smoothed(request, run, line, axis),
        lows=line.lows if has_envelope else None,
        highs=line.highs if has_envelope else None,
        faint=line.means if is_calm and is_smooth else None,
        marker_xs=marker_xs,
        marker_ys=marker_ys,
        value=number,
        value_name=number_name,
        note="" if len(line.xs) else NOT_RECORDED if run.is_over else "no point yet",
        key=run.run_id,
        joints=_joints(request, run, line, axis),
    )


def _band_number(request: PictureRequest, members: list[RunLook]) -> tuple[float | None, str]:
    """As the table has it beside the group, where the metric is the return."""
    returns = [run.mean_return for run in members if run.mean_return is not None]
    if request.metric == EPISODIC_RETURN and len(returns) == len(members):
        return statistics.fmean(returns), f"mean over the seeds of the {MEAN_RETURN_NAME}"
    return None, "interquartile mean of the seeds at the end"


def _band_curve(
    request: PictureRequest, members: list[RunLook], lines: Mapping[str, Line], axis: XAxis
) -> Curve:
    own = [lines[run.run_id] for run in members]
    band = band_of(
        [
            (line.xs, _smoothed(request, run, line, axis))
            for run, line in zip(members, own, strict=True)
        ]
    )
    present = sum(bool(len(line.xs)) for line in own)
    number, number_name = _band_number(request, members)
    marks = [_markers(request, run, lines[run.run_id], axis) for run in members]
    return Curve(
        label=members[0].group,
        colour=members[0].colour,
        xs=band.xs,
        ys=band.middle,
        lows=band.lows,
        highs=band.highs,
        is_band=True,
        value=number,
        value_name=number_name,
        marker_xs=np.concatenate([xs for xs, _ in marks]),
        marker_ys=np.concatenate([ys for _, ys in marks]),
        note=(
            amount(present, "seed")
            if present == len(members)
            else f"{present} of {amount(len(members), 'seed')}"
        ),
        key=f"group:{members[0].group}",
        joints=np.unique(
            np.concatenate([_joints(request, run, lines[run.run_id], axis) for run in members])
        )[:_MOST_JOINTS],
    )


def _markers(
    request: PictureRequest, run: RunLook, line: Line, axis: XAxis
) -> tuple[Numbers, Numbers]:
    found = [
        *(_evaluated(request, one.run_id, one.last_step) for one in request.ancestors(run)),
        _evaluated(request, run.run_id, None),
    ]
    steps = np.concatenate([steps for steps, _ in found])
    returns = np.concatenate([returns for _, returns in found])
    if not len(line.xs):
        return numbers(), numbers()
    return (steps if axis is XAxis.STEPS else _on_line(line, steps)), returns


def _evaluated(
    request: PictureRequest, run_id: str, last_step: int | None
) -> tuple[Numbers, Numbers]:
    found = request.evaluations.get(run_id)
    if found is None:
        return numbers(), numbers()
    kept = found.steps <= (math.inf if last_step is None else last_step)
    return found.steps[kept], found.returns[kept]


def _remarks(request: PictureRequest, lines: Mapping[str, Line], axis: XAxis) -> list[str]:
    """What the curves do not show, in sentences."""
    remarks = []
    gaps = sum(line.gaps for line in lines.values())
    if gaps:
        verb = "is no number" if gaps == 1 else "are no numbers"
        remarks.append(f"{amount(gaps, 'value')} {verb} (NaN or infinite): left as gaps.")
    if request.options.is_log_y:
        below = sum(int(np.count_nonzero(line.means <= 0)) for line in lines.values())
        if below:
            verb = "is" if below == 1 else "are"
            remarks.append(
                f"{amount(below, 'value')} {verb} zero or negative, "
                "which a logarithmic axis cannot show."
            )
    if axis is not request.options.x_axis:
        remarks.append("This metric is not measured once an episode: shown over steps.")
    return remarks
