"""What can be read from curves: a value below the pointer, the room they need."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mosaic.gui.state.curve import Curve, Numbers

Range = tuple[float, float]
_ROOM = 0.05  # of the height, above and below
_ROOM_BESIDE = 0.02


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
    """On the axis, with a little room."""
    parts = [part for curve in curves for part in (curve.xs, curve.marker_xs)]
    low, high = _extent(parts, is_log)
    if low == high:
        half = 0.5 if is_log else max(0.5, abs(low) * 0.5)
        return low - half, high + half
    room = (high - low) * _ROOM_BESIDE
    return low - (0.0 if low == 0 else room), high + room


def y_range(
    curves: Iterable[Curve], is_log: bool, within: Range | None = None, is_log_x: bool = False
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
    low, high = _extent(parts, is_log)
    if low == high:
        half = 0.5 if is_log else max(abs(low) * 0.1, 1e-9 if low else 0.5)
        return low - half, high + half
    room = (high - low) * _ROOM
    return low - room, high + room


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
        return low, high
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
    """The same width, as far as there is something to see."""
    begin, end = shown
    by = max(limits[0] - begin, min(limits[1] - end, by))
    return begin + by, end + by
