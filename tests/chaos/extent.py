"""How much of a chaos test is done: all of it, or as much as every commit has time for.

`make chaos` does everything and holds the daemon to its budgets. `.ci/run` runs the faults that
must block a merge in a bounded form, on machines of any speed: there only the outcome counts.
"""

from __future__ import annotations

import os
from typing import TypeVar

T = TypeVar("T")

IS_BOUNDED = os.environ.get("MOSAIC_CHAOS") == "bounded"


def extent(full: T, bounded: T) -> T:
    return bounded if IS_BOUNDED else full


def slowdown() -> float:
    """How much longer things take beside what else this machine does."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def assert_within(seconds: float, budget_s: float, slower: float | None = None) -> None:
    """A promise about time, of a machine that does nothing else.

    `slower`: the slowdown before the test began, where the test itself is a heavy load.
    """
    if not IS_BOUNDED:
        assert seconds <= budget_s * (slower or slowdown())
