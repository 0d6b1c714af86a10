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


def assert_within(seconds: float, budget_s: float) -> None:
    """A promise about time; a machine that is busy with something else proves nothing."""
    if not IS_BOUNDED:
        assert seconds <= budget_s
