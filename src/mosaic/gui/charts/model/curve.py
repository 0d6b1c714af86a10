"""Curve: one line of a chart, and what can be read, smoothed, summed up and exported of it."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mosaic.export.table_formats import spreadsheet_text

Numbers = NDArray[np.float64]


def numbers(values: Sequence[float] | NDArray[np.floating] = ()) -> Numbers:
    return np.asarray(values, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Curve:
    """Points in the order of x; a value that is not finite leaves a gap.

    With `lows` and `highs` a band is drawn around the line; `faint` is a second line behind it
    (the values before smoothing); markers are single points, such as evaluations.
    """

    label: str
    colour: str  # as #rrggbb
    xs: Numbers
    ys: Numbers
    lows: Numbers | None = None
    highs: Numbers | None = None
    is_band: bool = False  # of several runs: the band is their spread, always shown
    faint: Numbers | None = None
    marker_xs: Numbers = field(default_factory=numbers)
    marker_ys: Numbers = field(default_factory=numbers)
    joints: Numbers = field(default_factory=numbers)  # x where one run continues another
    level: tuple[float, float] | None = None  # instead of points: a height from side to side
    note: str = ""  # behind the label in the legend, such as "not recorded"
    value: float | None = None  # what the legend says of it; None: its last
    value_name: str = "last value"
    key: str = ""  # what the curve is known by when it is shown again; empty: its label

    @property
    def id(self) -> str:
        return self.key or self.label

    @property
    def is_empty(self) -> bool:
        return not bool(np.isfinite(self.ys).any())

    @property
    def legend_value(self) -> float | None:
        return self.last if self.value is None else self.value

    @property
    def last(self) -> float | None:
        """The last value that is one."""
        finite = self.ys[np.isfinite(self.ys)]
        return float(finite[-1]) if len(finite) else None


Range = tuple[float, float]
_ROOM = 0.05  # of the height, above and below
# Values that differ by less are one value, computed in two ways or in single precision; an axis
# could not tell them apart in numbers that anybody reads.
_ROUNDING = 1e-6
_TINY, _HUGE = 1e-290, 1e290  # beyond, the width of a range is no number any more
_ROOM_BESIDE = 0.02
_LEVEL_REACH = 3.0


class Reading(NamedTuple):
    x: float
    y: float


def on_axis(values: Numbers, is_log: bool) -> Numbers:
    """Where values are drawn; on a log axis there is no place for what is not above zero."""
    if not is_log:
        return values
    return np.log10(values, out=np.full_like(values, np.nan), where=values > 0)


def reading_at(curve: Curve, x: float) -> Reading | None:
    """The point of a curve that is nearest to x; None beside the curve and in its gaps."""
    if not len(curve.xs) or not math.isfinite(x):
        return None
    reach = _usual_distance(curve.xs)
    if x < curve.xs[0] - reach or x > curve.xs[-1] + reach:
        return None
    at = int(np.searchsorted(curve.xs, x))
    near = [place for place in (at - 1, at) if 0 <= place < len(curve.xs)]
    best = min(near, key=lambda place: abs(float(curve.xs[place]) - x))
    value = float(curve.ys[best])
    return Reading(float(curve.xs[best]), value) if math.isfinite(value) else None


def x_range(curves: Iterable[Curve], is_log: bool) -> Range:
    """On the axis, with a small margin."""
    parts = [part for curve in curves for part in (curve.xs, curve.marker_xs)]
    low, high = _extent(parts, is_log)
    if low == high:
        half = 0.5 if is_log else max(0.5, abs(low) * 0.5)
        return low - half, high + half
    room = (high - low) * _ROOM_BESIDE
    return low - (0.0 if low == 0 else room), high + room


def y_range(
    curves: Sequence[Curve], is_log: bool, within: Range | None = None, is_log_x: bool = False
) -> Range:
    """On the axis; `within` is the range of x that is looked at, on its axis."""
    parts = []
    for curve in curves:
        xs = on_axis(curve.xs, is_log_x)
        columns = [curve.ys]
        if curve.lows is not None and curve.highs is not None:
            columns += [curve.lows, curve.highs]
        if curve.faint is not None:
            columns.append(curve.faint)
        inside = _inside(xs, within)
        parts += [column[inside] for column in columns]
        marks = _inside(on_axis(curve.marker_xs, is_log_x), within)
        parts.append(curve.marker_ys[marks])
    low, high = _with_levels(_extent(parts, is_log), curves, is_log)
    size = max(abs(low), abs(high))
    if high - low <= _ROUNDING * size:
        half = 0.5 if is_log or size < _TINY else size * 0.1
        return low - half, high + half
    room = (high - low) * _ROOM
    return low - room, high + room


def _with_levels(extent: Range, curves: Sequence[Curve], is_log: bool) -> Range:
    """Levels are in sight where that leaves the curves at least a third of the height."""
    low, high = extent
    edges = [on_axis(numbers(curve.level), is_log) for curve in curves if curve.level is not None]
    has_points = any(not curve.is_empty for curve in curves)
    for edge in sorted((float(edge) for pair in edges for edge in pair), key=abs):
        if not math.isfinite(edge):
            continue
        wider = min(low, edge), max(high, edge)
        span = extent[1] - extent[0]
        if has_points and wider[1] - wider[0] <= max(span, abs(high) * 0.1) * _LEVEL_REACH:
            low, high = wider
    return low, high


def _inside(xs: Numbers, within: Range | None) -> NDArray[np.intp]:
    """Places; between two points, those two: a line joins them."""
    if within is None:
        return np.arange(len(xs))
    places = np.flatnonzero((xs >= within[0]) & (xs <= within[1]))
    if not len(places):
        before, after = np.flatnonzero(xs < within[0]), np.flatnonzero(xs > within[1])
        places = np.concatenate([before[-1:], after[:1]])
    return places.astype(np.intp)


def _extent(parts: Iterable[Numbers], is_log: bool) -> Range:
    low, high = math.inf, -math.inf
    for part in parts:
        drawn = on_axis(part, is_log)
        drawn = drawn[np.isfinite(drawn)]
        if len(drawn):
            low, high = min(low, float(drawn.min())), max(high, float(drawn.max()))
    if low <= high:
        return max(low, -_HUGE), min(high, _HUGE)
    return (0.0, 1.0)


def _usual_distance(xs: Numbers) -> float:
    """How far the pointer may be beside the ends of a curve."""
    if len(xs) < 2:
        return math.inf  # a single point is read wherever the pointer is
    return float(xs[-1] - xs[0]) * 0.02


def followed(chosen: Range, last_before: float, last_now: float) -> Range:
    """A chosen range of x moved on by as much as the curves grew, if it showed their end."""
    begin, end = chosen
    if not begin <= last_before <= end or last_now <= end:
        return chosen
    moved = last_now - end
    return begin + moved, end + moved


def zoomed(shown: Range, factor: float, centre: float, limits: Range) -> Range | None:
    """A part of the range, or more of it; None where that would be all there is."""
    begin, end = (centre + (edge - centre) * factor for edge in shown)
    begin, end = max(begin, limits[0]), min(end, limits[1])
    if end - begin >= (limits[1] - limits[0]) * 0.999 or end <= begin:
        return None
    return begin, end


def panned(shown: Range, by: float, limits: Range) -> Range:
    """The same width, within what there is to see."""
    begin, end = shown
    by = max(limits[0] - begin, min(limits[1] - end, by))
    return begin + by, end + by


# Smoothing: the window is a share of the whole curve, and the mean weighs every measured value
# alike. So a smoothed value is the same at any zoom and any width of the chart. A curve of more
# points is smoothed as if it had this many.
_FINEST = 1_000


def window_of(weight: float, extent: float, points: int) -> float:
    """How far back a smoothed value looks, in the unit of `extent`, the length of the curve.

    `weight` between 0 (no smoothing) and 1 is what TensorBoard calls it: an exponential mean with
    this weight looks back about as many points.
    """
    if weight <= 0 or points < 2:
        return 0.0
    spaces = (1.0 + weight) / (1.0 - weight) - 1.0
    return min(1.0, spaces / (min(points, _FINEST) - 1)) * extent


def smoothed(xs: Numbers, values: Numbers, counts: Numbers, window: float) -> Numbers:
    """`xs` rise; a point counts for `counts` values. Gaps stay gaps, and are not remembered."""
    if window <= 0 or len(xs) < 2:
        return values
    is_finite = np.isfinite(values)
    weights = np.where(is_finite, counts, 0.0)
    sums = np.concatenate(([0.0], np.cumsum(np.where(is_finite, values, 0.0) * weights)))
    total = np.concatenate(([0.0], np.cumsum(weights)))
    ends = np.arange(1, len(xs) + 1)
    # Both ends belong to the window, whatever the rounding.
    starts = np.minimum(np.searchsorted(xs, xs - window * (1 + 1e-9)), ends - 1)
    with np.errstate(invalid="ignore", divide="ignore"):  # a gap has nothing to be divided by
        means = (sums[ends] - sums[starts]) / (total[ends] - total[starts])
    return np.where(is_finite, means, np.nan)


GRID_POINTS = 400
_TRIMMED = 0.25


class Band(NamedTuple):
    """Several seeds as one curve: their interquartile mean between the lowest and the highest."""

    xs: Numbers
    middle: Numbers
    lows: Numbers
    highs: Numbers


def band_of(lines: Sequence[tuple[Numbers, Numbers]], points: int = GRID_POINTS) -> Band:
    """Pairs of x and y, each in the order of x; lines without a value are left out.

    As far as half of the lines reach, and two of them: what one seed did last is not a spread.
    """
    finite = [_finite(xs, ys) for xs, ys in lines]
    finite = [(xs, ys) for xs, ys in finite if len(xs)]
    if not finite:
        return Band(numbers(), numbers(), numbers(), numbers())
    needed = min(len(finite), max(2, (len(finite) + 1) // 2))
    begin = sorted(float(xs[0]) for xs, _ in finite)[needed - 1]
    end = sorted((float(xs[-1]) for xs, _ in finite), reverse=True)[needed - 1]
    if end < begin:
        return Band(numbers(), numbers(), numbers(), numbers())
    grid = np.linspace(begin, end, points if end > begin else 1)
    rows = np.stack([np.interp(grid, xs, ys, left=np.nan, right=np.nan) for xs, ys in finite])
    kept = np.isfinite(rows).sum(axis=0) >= needed
    grid, rows = grid[kept], rows[:, kept]
    if not len(grid):
        return Band(numbers(), numbers(), numbers(), numbers())
    return Band(grid, _iqm(rows), np.nanmin(rows, axis=0), np.nanmax(rows, axis=0))


def _iqm(rows: Numbers) -> Numbers:
    """The mean of the middle half in each column; of all where there are fewer than four."""
    ordered = np.sort(rows, axis=0)  # what is missing comes last
    counts = np.isfinite(rows).sum(axis=0)
    cut = (counts * _TRIMMED).astype(int)
    places = np.arange(len(rows))[:, None]
    inside = (places >= cut) & (places < counts - cut)
    total = np.where(inside, ordered, 0.0).sum(axis=0)
    return np.asarray(total / inside.sum(axis=0), dtype=np.float64)


def _finite(xs: Numbers, ys: Numbers) -> tuple[Numbers, Numbers]:
    kept = np.isfinite(ys) & np.isfinite(xs)
    return xs[kept], ys[kept]


_COLUMNS = ("curve", "x", "value", "low", "high", "before_smoothing")
MARKER = "evaluation"


def csv_text(curves: Iterable[Curve], x_title: str) -> str:
    """One row per point; evaluations follow the curve they belong to."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow([spreadsheet_text(x_title) if column == "x" else column for column in _COLUMNS])
    for curve in curves:
        label = spreadsheet_text(curve.label)
        columns = (curve.xs, curve.ys, curve.lows, curve.highs, curve.faint)
        for row in range(len(curve.xs)):
            values = ("" if part is None else _cell(float(part[row])) for part in columns)
            table.writerow([label, *values])
        for x, y in zip(curve.marker_xs.tolist(), curve.marker_ys.tolist(), strict=True):
            table.writerow([f"{label} ({MARKER})", _cell(x), _cell(y), "", "", ""])
    return text.getvalue()


def page_csv_text(charts: Iterable[tuple[str, str, Sequence[Curve]]]) -> str:
    """Of several charts, each a metric, the title of its x and its curves: a metric in each row."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["metric", "x_axis", *_COLUMNS])
    for metric, x_title, curves in charts:
        rows = csv.reader(io.StringIO(csv_text(curves, x_title)))
        next(rows)
        for row in rows:
            table.writerow([spreadsheet_text(metric), spreadsheet_text(x_title), *row])
    return text.getvalue()


def file_stem(metric: str) -> str:
    """A name for files that every system takes."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", metric).strip("-.") or "chart"


def _cell(value: float) -> str:
    if not math.isfinite(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
