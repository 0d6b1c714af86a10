"""Smoothing as TensorBoard does it: an exponential mean, corrected for its short past."""

from __future__ import annotations

import math

import numpy as np

from mosaic.gui.state.curve import Numbers


def smoothed(values: Numbers, weight: float) -> Numbers:
    """`weight` between 0 (as they are) and 1; gaps stay gaps, and are not remembered."""
    if weight <= 0 or len(values) < 2:
        return values
    found = np.empty_like(values)
    past, share = 0.0, 1.0
    for index, value in enumerate(values.tolist()):
        if math.isfinite(value):
            past = past * weight + value * (1.0 - weight)
            share *= weight
            found[index] = past / (1.0 - share)
        else:
            found[index] = math.nan
    return found
