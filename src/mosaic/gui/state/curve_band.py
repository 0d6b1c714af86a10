"""Several seeds as one curve: their interquartile mean, with the lowest and the highest around."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mosaic.gui.state.curve import Numbers, numbers

GRID_POINTS = 400
_TRIMMED = 0.25


class Band(NamedTuple):
    xs: Numbers
    middle: Numbers
    lows: Numbers
    highs: Numbers


def band_of(lines: Sequence[tuple[Numbers, Numbers]], points: int = GRID_POINTS) -> Band:
    """Pairs of x and y, each in the order of x; lines without a value are left out.

    As far as half of the lines reach, and two of them: what one seed did last is no spread.
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
