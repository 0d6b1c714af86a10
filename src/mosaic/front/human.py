"""Numbers and times as people write them."""

from __future__ import annotations

import math
import time


def duration(seconds: float) -> str:
    """At most two units: `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`, `4 d 3 h`."""
    if seconds < 0 or not math.isfinite(seconds):
        return "?"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = max(10, int(seconds))  # as a clock shows it: nothing before it is over
    for size, unit, below, smaller in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min")):
        if whole >= size:
            rest = whole % size // below
            return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    if whole >= 60:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole} s"


def age(moment: float, now: float | None = None) -> str:
    """One unit is enough to say how long ago something was: `3 min ago`."""
    if not math.isfinite(moment):
        return "?"
    seconds = max(0.0, (time.time() if now is None else now) - moment)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return f"{int(seconds)} s ago" if seconds >= 1 else "just now"


def moment(at: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
    except (ValueError, OverflowError, OSError):  # no time of any calendar
        return "?"


def count(number: int) -> str:
    return f"{number:,}"


def amount(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number_of_bytes: float) -> str:
    value = float(number_of_bytes)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def decimal(value: float) -> str:
    """Four significant digits, no exponent for everyday sizes."""
    if not math.isfinite(value):
        return str(value)
    if value == 0 or 0.001 <= abs(value) < 10_000:
        return f"{value:,.4g}"
    if 10_000 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.3e}"
