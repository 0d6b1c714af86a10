"""Numbers and estimates as reports write them. Pure."""

from __future__ import annotations

import math

from mosaic.compare.statistics import Estimate


def shown(estimate: Estimate) -> str:
    """`402.10 [388.95, 419.46]`, or the value alone where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return number(estimate.value)
    return f"{number(estimate.value)} [{number(estimate.low)}, {number(estimate.high)}]"


def number(value: float | None, digits: int = 2) -> str:
    """Everyday sizes with a fixed number of digits, so that columns line up."""
    if value is None or not math.isfinite(value):
        return "–"
    size = abs(value)
    if size and (size < 10**-digits / 2 or size >= 1e9):
        return f"{value:.2e}"
    return f"{value:,.{digits}f}" if size < 10_000 else f"{value:,.0f}"


def seeds_text(seeds: int) -> str:
    return "1 seed" if seeds == 1 else f"{seeds} seeds"
