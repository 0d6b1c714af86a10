"""What the learner believes of how it is doing: the last episodes, in numbers.

Depends on the episodes alone and not on time, so that a run with the same seed decides the same.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

WINDOW = 100  # episodes that "the last" ones are
STAGNATION_WINDOWS = 10  # so many windows without a better one
_BETTER_BY = 0.01  # of the range of returns seen so far
_MOST_VALUES = WINDOW * STAGNATION_WINDOWS


class Statistics:
    """Of the episodes of the training."""

    def __init__(self) -> None:
        self.episodes = 0
        self._returns: deque[float] = deque(maxlen=WINDOW)
        self._successes: deque[bool] = deque(maxlen=WINDOW)
        self._lowest = 0.0
        self._highest = 0.0
        self._best_mean = 0.0
        self._best_at = 0  # the episode; 0: none yet

    def add(self, returns: Any, successes: Any) -> None:
        """Of episodes that ended, in order. However they are divided, it comes to the same."""
        values, won = [float(value) for value in returns], [bool(item) for item in successes]
        start = 0
        while start < len(values):
            end = start + WINDOW - self.episodes % WINDOW
            self._add(values[start:end], won[start:end])
            start = end

    def _add(self, values: list[float], won: list[bool]) -> None:
        first = self.episodes == 0
        self.episodes += len(values)
        self._returns.extend(values)
        self._successes.extend(won)
        self._lowest = min(values) if first else min(self._lowest, *values)
        self._highest = max(values) if first else max(self._highest, *values)
        if self.episodes % WINDOW:
            return
        least = _BETTER_BY * (self._highest - self._lowest)
        if self._best_at == 0 or self.mean_return > self._best_mean + least:
            self._best_mean, self._best_at = self.mean_return, self.episodes

    @property
    def mean_return(self) -> float:
        return sum(self._returns) / len(self._returns) if self._returns else 0.0

    @property
    def success_rate(self) -> float:
        return sum(self._successes) / len(self._successes) if self._successes else 0.0

    @property
    def is_stagnating(self) -> bool:
        return self.episodes - self._best_at >= _MOST_VALUES

    def state_dict(self) -> dict[str, Any]:
        return {
            "episodes": self.episodes,
            "returns": list(self._returns),
            "successes": list(self._successes),
            "lowest": self._lowest,
            "highest": self._highest,
            "best_mean": self._best_mean,
            "best_at": self._best_at,
        }

    def load_state_dict(self, saved: Mapping[str, Any]) -> None:
        self.episodes = int(saved["episodes"])
        self._returns = deque(map(float, saved["returns"]), maxlen=WINDOW)
        self._successes = deque(map(bool, saved["successes"]), maxlen=WINDOW)
        self._lowest, self._highest = float(saved["lowest"]), float(saved["highest"])
        self._best_mean = float(saved["best_mean"])
        self._best_at = int(saved["best_at"])
