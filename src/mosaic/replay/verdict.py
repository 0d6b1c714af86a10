"""Whether an episode that is replayed goes as it was recorded. Pure.

Steps are counted from 1: step 17 is what the 17th action brought about.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

IDENTICAL, DIFFERS, IMPOSSIBLE = "identical", "differs", "impossible"


@dataclass(frozen=True)
class ReplayVerdict:
    kind: str  # IDENTICAL, DIFFERS or IMPOSSIBLE
    sentence: str
    steps: int = 0  # compared
    mismatches: int = 0  # rewards that differ
    first_step: int | None = None  # at which anything differs
    largest_difference: float = 0.0

    @property
    def is_identical(self) -> bool:
        return self.kind == IDENTICAL

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def impossible_replay(problem: str) -> ReplayVerdict:
    return ReplayVerdict(IMPOSSIBLE, f"cannot be simulated: {problem}")


class ReplayComparison:
    """Compares what each step gave, once per step, in order."""

    def __init__(self, steps: int, terminated: bool, truncated: bool) -> None:
        """How many steps the recording has, and how it ended."""
        self._steps = steps
        self._recorded_end = (terminated, truncated)
        self.compared = 0
        self.mismatches = 0
        self.largest_difference = 0.0
        self.first_step: int | None = None
        self._first_words = ""

    def add(
        self, step: int, recorded: float, simulated: float, terminated: bool, truncated: bool
    ) -> None:
        if step <= self.compared:
            return  # seen before: somebody went back
        self.compared = step
        if not is_same(recorded, simulated):
            self.mismatches += 1
            self.largest_difference = max(self.largest_difference, difference(recorded, simulated))
            self._differs(step, f"recorded {recorded!r}, simulated {simulated!r}")
        end = (bool(terminated), bool(truncated))
        if step < self._steps and any(end):
            self._differs(
                step, f"the recorded episode has {self._steps} steps, simulated it {_ended(end)}"
            )
        elif step == self._steps and end != self._recorded_end:
            self._differs(
                step, f"recorded it {_ended(self._recorded_end)}, simulated {_ended(end)}"
            )

    def _differs(self, step: int, words: str) -> None:
        if self.first_step is None:
            self.first_step, self._first_words = step, words

    @property
    def sentence(self) -> str:
        if self.first_step is None:
            return IDENTICAL
        text = f"differs at step {self.first_step}: {self._first_words}"
        if self.mismatches > 1:
            text += (
                f" ({self.mismatches} of {self.compared} rewards differ, "
                f"by {self.largest_difference:.6g} at most)"
            )
        return text

    def verdict(self) -> ReplayVerdict:
        return ReplayVerdict(
            IDENTICAL if self.first_step is None else DIFFERS,
            self.sentence,
            self.compared,
            self.mismatches,
            self.first_step,
            self.largest_difference,
        )


def is_same(recorded: float, simulated: float) -> bool:
    """Bit by bit, but for the sign of a zero, which the store does not keep."""
    return recorded == simulated or (math.isnan(recorded) and math.isnan(simulated))


def difference(recorded: float, simulated: float) -> float:
    """Infinite where one of them is not a finite number."""
    gap = abs(recorded - simulated)
    return gap if math.isfinite(gap) else math.inf


def _ended(end: tuple[bool, bool]) -> str:
    terminated, truncated = end
    if terminated:
        return "terminated and was cut off" if truncated else "terminated"
    return "was cut off" if truncated else "did not end"
