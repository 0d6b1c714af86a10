"""A curve in one line of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"  # where there is no finite value


def sparkline(values: Sequence[float]) -> str:
    """One character per value; the lowest is the smallest bar and the highest the largest."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return _GAP * len(values)
    # Halved, so that the distance between the largest numbers is no infinity.
    low, high = min(finite) / 2, max(finite) / 2
    span = high - low

    def bar(value: float) -> str:
        if not math.isfinite(value):
            return _GAP
        share = (value / 2 - low) / span if span else 0.5
        return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]

    return "".join(map(bar, values))
