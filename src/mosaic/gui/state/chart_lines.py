"""What the daemon answers, as lines over steps, time or episodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mosaic.contracts.history import MetricSeries
from mosaic.gui.state.chart_options import XAxis
from mosaic.gui.state.curve import Numbers, numbers

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
    # A run that went on from a checkpoint has some steps twice.
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
