"""Bounded waiting for tests with real processes: poll a condition, never just sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# So long that no machine is too slow for it, however much else it does; only what never happens
# takes as long. Shorter bounds are for tests that say how soon something is.
PATIENCE_S = 180.0


def wait_until(
    predicate: Callable[[], T | None], timeout_s: float = PATIENCE_S, what: str = "condition"
) -> T:
    """The first truthy value of the predicate; fails the test when none comes in time."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout_s} s for {what}, last value: {value!r}")
        time.sleep(0.01)
