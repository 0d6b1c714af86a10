"""Histograms over the steps as one picture: how values are spread, column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mosaic.analytics.media import Histogram
from mosaic.gui.charts.model.curve import Numbers

ROWS, COLUMNS = 72, 240
_TAIL = 0.002  # of all values may lie beyond what is shown: an outlier would flatten the rest


@dataclass(frozen=True, eq=False)
class Heat:
    """`shares[column, row]` of the values of one step; a column begins at one of `steps`."""

    steps: Numbers
    low: float
    high: float
    shares: Numbers

    @property
    def last_step(self) -> float:
        return float(self.steps[-1])

    def at(self, step: float, value: float) -> tuple[int, float] | None:
        """The step whose column is there, and the share of its values in this row."""
        if not self.low <= value <= self.high or self.high <= self.low:
            return None
        column = max(0, int(np.searchsorted(self.steps, step, side="right")) - 1)
        row = min(ROWS - 1, int((value - self.low) / (self.high - self.low) * ROWS))
        return int(self.steps[column]), float(self.shares[column, row])


def heat_of(histograms: Sequence[Histogram]) -> Heat | None:
    """In the order of their steps; of very many, evenly chosen ones."""
    if not histograms:
        return None
    if len(histograms) > COLUMNS:
        places = np.linspace(0, len(histograms) - 1, COLUMNS).astype(int)
        histograms = [histograms[place] for place in places]
    low = min(_quantile(one, _TAIL) for one in histograms)
    high = max(_quantile(one, 1 - _TAIL) for one in histograms)
    if high <= low:
        half = max(0.5, abs(low) * 0.1)
        low, high = low - half, high + half
    grid = np.linspace(low, high, ROWS + 1)
    shares = np.stack([np.diff(_cumulated(one, grid)) for one in histograms])
    steps = np.asarray([one.step for one in histograms], dtype=np.float64)
    return Heat(steps, low, high, shares)


def _cumulated(one: Histogram, at: Numbers) -> Numbers:
    edges, total = np.asarray(one.edges), np.concatenate(([0.0], np.cumsum(one.counts)))
    return np.asarray(np.interp(at, edges, total / total[-1], left=0.0, right=1.0))


def _quantile(one: Histogram, share: float) -> float:
    total = np.concatenate(([0.0], np.cumsum(one.counts)))
    return float(np.interp(share, total / total[-1], np.asarray(one.edges)))


def image_of(heat: Heat, columns: int = COLUMNS) -> Numbers:
    """Equally wide columns of the time between the first and the last step, brightest at 1."""
    begin, end = heat.steps[0], heat.steps[-1]
    if end <= begin:
        cells = heat.shares[-1:]
    else:
        places = np.linspace(begin, end, columns)
        cells = heat.shares[np.searchsorted(heat.steps, places, side="right") - 1]
    highest = cells.max(axis=1, keepdims=True)
    return np.asarray(np.sqrt(cells / np.where(highest > 0, highest, 1.0)))
