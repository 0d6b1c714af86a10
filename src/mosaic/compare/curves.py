"""Curves of several seeds on one grid of steps: smoothed, cut to what all of them have. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from mosaic.errors import RequestError

Floats = NDArray[np.float64]

GRID_POINTS = 200
# The running mean at a step looks back over this part of the compared range.
SMOOTHING = 0.05


@dataclass(frozen=True)
class Curve:
    """What one run measured. A point may stand for several (`weights`), at the last one's step."""

    run_id: str
    steps: Floats
    values: Floats
    weights: Floats
    # How far the run came, when that is beyond its last point: in the middle of an episode, say.
    ended_at: float = 0.0

    @classmethod
    def of(
        cls,
        run_id: str,
        steps: Sequence[float] | Floats,
        values: Sequence[float] | Floats,
        weights: Sequence[float] | Floats | None = None,
    ) -> Curve:
        """In the order of their steps, which a journal may not have kept."""
        at = np.asarray(steps, dtype=float)
        order = np.argsort(at, kind="stable")
        weight = np.ones(len(at)) if weights is None else np.asarray(weights, dtype=float)
        return cls(run_id, at[order], np.asarray(values, dtype=float)[order], weight[order])

    @property
    def is_empty(self) -> bool:
        return not np.isfinite(self.values).any()

    @property
    def last_step(self) -> float:
        return max(float(self.steps[-1]), self.ended_at) if len(self.steps) else 0.0

    @property
    def points(self) -> int:
        return int(self.weights.sum())

    def up_to(self, step: float) -> Curve:
        end = int(np.searchsorted(self.steps, step, side="right"))
        return replace(
            self,
            steps=self.steps[:end],
            values=self.values[:end],
            weights=self.weights[:end],
            ended_at=min(step, self.ended_at),
        )

    def finite(self) -> Curve:
        kept = np.isfinite(self.values)
        return replace(
            self, steps=self.steps[kept], values=self.values[kept], weights=self.weights[kept]
        )


def common_range(
    curves: Sequence[Curve], names: Mapping[str, str] | None = None
) -> tuple[float, float]:
    """From where the last curve begins to where the first one ends. `names` are those of runs."""
    named = names or {}
    finite = [curve.finite() for curve in curves]
    late = max(finite, key=lambda curve: float(curve.steps[0]))
    short = min(finite, key=lambda curve: curve.last_step)
    begin, end = float(late.steps[0]), short.last_step
    if begin > end:
        raise RequestError(
            f"The runs share no steps: {named.get(short.run_id, short.run_id)} ends at step "
            f"{end:,.0f}, before the first value of {named.get(late.run_id, late.run_id)} at step "
            f"{begin:,.0f}",
            hint="leave one of the two out",
        )
    return begin, end


def step_grid(begin: float, end: float, points: int = GRID_POINTS) -> Floats:
    return np.linspace(begin, end, points if end > begin else 1)


def smoothed(curve: Curve, grid: Floats, window: float) -> Floats:
    """At each grid step the mean of what was measured in the `window` steps up to it.

    Where nothing was measured for that long, the latest value before it; NaN before the first.
    """
    finite = curve.finite()
    sums = np.concatenate(([0.0], np.cumsum(finite.values * finite.weights)))
    counts = np.concatenate(([0.0], np.cumsum(finite.weights)))
    ends = np.searchsorted(finite.steps, grid, side="right")
    starts = np.searchsorted(finite.steps, grid - window, side="right")
    starts = np.minimum(starts, np.maximum(ends - 1, 0))
    with np.errstate(invalid="ignore"):  # nothing before the first point: 0 / 0
        means = (sums[ends] - sums[starts]) / (counts[ends] - counts[starts])
    return np.asarray(means, dtype=float)


def matrix(curves: Sequence[Curve], grid: Floats) -> Floats:
    """One smoothed row per seed."""
    window = SMOOTHING * max(grid[-1] - min(0.0, grid[0]), 1.0)
    return np.stack([smoothed(curve, grid, window) for curve in curves])


def mean_over_range(rows: Floats, grid: Floats) -> Floats:
    """The area under each curve divided by its length: the mean performance while training."""
    if len(grid) == 1:
        return np.asarray(rows[:, 0], dtype=float)
    return np.asarray(np.trapezoid(rows, grid, axis=1) / (grid[-1] - grid[0]), dtype=float)


def has_diverged(tail: Floats) -> bool:
    """A run that ends in values that are no numbers has no final performance."""
    return bool(np.count_nonzero(~np.isfinite(tail)) * 2 > len(tail))
