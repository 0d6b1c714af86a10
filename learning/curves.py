"""From the returns of single episodes to a curve and a figure. Pure."""

from __future__ import annotations

CURVE_POINTS = 120

Points = list[tuple[int, float]]


def thinned(points: Points) -> Points:
    """At most about CURVE_POINTS points: the mean return of each stretch of steps."""
    if not points:
        return []
    width = max(1, (points[-1][0] + 1) // CURVE_POINTS)
    stretches: dict[int, list[float]] = {}
    for step, value in points:
        stretches.setdefault(step // width, []).append(value)
    return [
        (number * width + width // 2, round(sum(values) / len(values), 3))
        for number, values in stretches.items()
    ]


def last_returns_mean(points: Points, count: int = 100) -> float:
    """Over the last training episodes: the last 100 in the published figures."""
    last = [value for _, value in points[-count:]]
    return sum(last) / len(last)
