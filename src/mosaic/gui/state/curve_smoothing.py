"""Smoothing: at each place the mean of what was measured in a window before it.

The window is a share of the whole curve, and the mean weighs every value that was measured alike.
So a smoothed value is the same however far somebody has zoomed in, and however wide the chart is.
"""

from __future__ import annotations

import numpy as np

from mosaic.gui.state.curve import Numbers

# A curve of more points is smoothed as if it had so many.
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
