"""The points of one curve, as compact columns."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field


def _integers() -> array[int]:
    return array("q")


def _floats() -> array[float]:
    return array("d")


@dataclass
class Series:
    """Steps, seconds since the epoch (not a number where unknown) and values, equally long."""

    steps: array[int] = field(default_factory=_integers)
    wall_times: array[float] = field(default_factory=_floats)
    values: array[float] = field(default_factory=_floats)

    def __len__(self) -> int:
        return len(self.steps)

    def append(self, step: int, wall_time: float, value: float) -> None:
        self.steps.append(step)
        self.wall_times.append(wall_time)
        self.values.append(value)

    def extend(self, newer: Series) -> None:
        self.steps.extend(newer.steps)
        self.wall_times.extend(newer.wall_times)
        self.values.extend(newer.values)

    def cut_from(self, step: int) -> None:
        """Take every point at this step or beyond out."""
        if not self.steps or max(self.steps) < step:
            return
        kept = [index for index, at in enumerate(self.steps) if at < step]
        self.steps = array("q", [self.steps[index] for index in kept])
        self.wall_times = array("d", [self.wall_times[index] for index in kept])
        self.values = array("d", [self.values[index] for index in kept])
