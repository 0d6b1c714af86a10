"""Values and episodes beyond what is kept one by one, summed up exactly, a second at a time. Pure.

A run may log a million values in a burst, and ten thousand a second for ever: a day of that are
gigabytes. What comes on top becomes one point a second and name, which says of how many values it
is the mean, and their lowest, highest, first and last one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mosaic.watch.messages import Episode

PER_SECOND = 10_000
BURST = 1_000_000


class Allowance:
    """Says of each value whether it may be kept for itself."""

    def __init__(self, now: float, per_second: int = PER_SECOND, burst: int = BURST) -> None:
        self._per_second, self._burst = per_second, burst
        self._left, self._filled_at = float(burst), now

    def refill(self, now: float) -> None:
        gained = max(0.0, now - self._filled_at) * self._per_second
        self._left, self._filled_at = min(float(self._burst), self._left + gained), now

    def take(self) -> bool:
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass
class Summary:
    """Of numbers that are all finite, or all not."""

    count: int = 0
    total: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    first: float = math.nan
    last: float = math.nan

    def add(self, value: float) -> None:
        if not self.count:
            self.first = value
        self.count += 1
        self.total += value
        self.low, self.high, self.last = min(self.low, value), max(self.high, value), value

    @property
    def mean(self) -> float:
        """Rounding does not lead out of the range of the values."""
        mean = self.total / self.count
        return min(max(mean, self.low), self.high) if math.isfinite(mean) else mean

    def fields(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "low": self.low,
            "high": self.high,
            "first": self.first,
            "last": self.last,
        }


class PointSums:
    """The values of one metric since the last time."""

    def __init__(self) -> None:
        self.values = Summary()
        self.first_step = self.last_step = 0

    def add(self, value: float, step: int) -> None:
        if not self.values.count:
            self.first_step = step
        self.last_step = step
        self.values.add(value)


class EpisodeSums:
    """Episodes of one process since the last time, whose numbers follow each other."""

    def __init__(self, first: Episode) -> None:
        self.returns = Summary()
        self.steps = 0
        self._first = first

    def takes(self, episode: Episode) -> bool:
        expected = self._first.number + self.returns.count
        return not episode.process or episode.number == expected

    def add(self, episode: Episode) -> None:
        self.returns.add(episode.total_reward)
        self.steps += episode.length

    def mean_episode(self) -> Episode:
        """In place of all of them; their lengths are rounded to a whole one."""
        mean_length = round(self.steps / self.returns.count)
        return self._first._replace(total_reward=self.returns.mean, length=mean_length)
