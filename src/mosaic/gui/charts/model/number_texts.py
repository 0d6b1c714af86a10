"""Numbers at axes and in legends: short, and never with more digits than they have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from mosaic.front.human import count, decimal, duration

_SCALES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_PLAIN_BELOW, _SMALL = 10_000, 1e-3
_NO_VALUE = "–"


class TimeUnit(NamedTuple):
    name: str
    seconds: float


_TIME_UNITS = (TimeUnit("d", 86_400), TimeUnit("h", 3_600), TimeUnit("min", 60), TimeUnit("s", 1))


def tick_texts(values: Sequence[float], spacing: float) -> list[str]:
    """`0`, `20k`, `40k`; as many decimals as it takes to tell neighbours apart."""
    largest = max((abs(value) for value in values), default=0.0)
    if not math.isfinite(largest) or not math.isfinite(spacing) or spacing <= 0:
        return [decimal(value) for value in values]
    if largest and largest < _SMALL:
        exponent = math.floor(math.log10(largest))
        digits = _decimals(spacing / 10.0**exponent)
        return [_zero(value, f"{value / 10.0**exponent:.{digits}f}e{exponent}") for value in values]
    size, sign = (1.0, "")
    if largest >= _PLAIN_BELOW:
        size, sign = next((scale for scale in _SCALES if largest >= scale[0]), (1.0, ""))
    digits = _decimals(spacing / size)
    return [_zero(value, f"{value / size:,.{digits}f}{sign}") for value in values]


def log_tick_texts(exponents: Sequence[float]) -> list[str]:
    """Of places on a logarithmic axis."""
    return [_power(exponent) for exponent in exponents]


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Places on a logarithmic axis between two of them: decades, and what is nice in between."""
    decades = list(range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1))
    if len(decades) > most:
        step = math.ceil(len(decades) / most)
        return [float(decade) for decade in decades if decade % step == 0]
    for mantissas in ((1, 2, 3, 4, 5, 6, 7, 8, 9), (1, 2, 5), (1, 3), (1,)):
        ticks = [
            decade + math.log10(mantissa)
            for decade in range(math.floor(low), math.floor(high) + 1)
            for mantissa in mantissas
        ]
        ticks = [tick for tick in ticks if low - 1e-9 <= tick <= high + 1e-9]
        if len(ticks) <= most:
            break
    return ticks if len(ticks) >= 2 else _even_ticks(low, high)


def value_text(value: float | None) -> str:
    """At most nine characters, so that a column of them does not move."""
    if value is None or not math.isfinite(value):
        return _NO_VALUE
    if abs(value) >= 1e6:
        size, sign = next(scale for scale in _SCALES if abs(value) >= scale[0])
        return f"{value / size:.4g}{sign}" if abs(value) < 1e15 else f"{value:.2e}"
    if 0 < abs(value) < _SMALL:
        return f"{value:.2e}"
    return decimal(value)


def x_text(value: float, axis: str) -> str:
    """Where the pointer is: `step 12,288`, `after 3 min 5 s`, `episode 120`."""
    if axis == "time":
        return f"after {duration(max(0.0, value))}"
    return f"{'episode' if axis == 'episodes' else 'step'} {count(round(value))}"


def time_unit(longest_s: float) -> TimeUnit:
    """In which a time axis is written."""
    return next((unit for unit in _TIME_UNITS if longest_s >= 2 * unit.seconds), _TIME_UNITS[-1])


def _even_ticks(low: float, high: float) -> list[float]:
    """Where less than a decade is shown: as on a plain axis."""
    first, last = 10.0**low, 10.0**high
    rough = (last - first) / 3
    if rough <= 0:
        return [low]
    unit = 10.0 ** math.floor(math.log10(rough))
    spacing = max(factor * unit for factor in (1, 2, 5) if factor * unit <= rough)
    begin = math.ceil(first / spacing)
    return [
        math.log10(place * spacing)
        for place in range(begin, math.floor(last / spacing) + 1)
        if place
    ]


def _power(exponent: float) -> str:
    value = 10.0**exponent
    if 1e-3 <= value < _PLAIN_BELOW:
        return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    if value < 1e-3:
        whole = math.floor(exponent + 1e-9)
        return f"{value / 10.0**whole:.3g}e{whole}"
    if value >= 1e15:
        return f"1e{exponent:.0f}"
    size, sign = next(scale for scale in _SCALES if value >= scale[0] * 0.999999)
    return f"{value / size:.3g}{sign}"


def _decimals(spacing: float) -> int:
    """2.5 needs a digit though it is larger than one; 0.25 needs two."""
    least = max(0, math.ceil(-math.log10(spacing) - 1e-6))
    for digits in range(least, least + 2):
        scaled = spacing * 10.0**digits
        if abs(scaled - round(scaled)) < 1e-6 * scaled:
            return digits
    return least + 1


def _zero(value: float, text: str) -> str:
    return "0" if value == 0 else text
