"""Bounded waiting for tests with real processes: poll a condition, never just sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(
    predicate: Callable[[], T | None], timeout_s: float = 10.0, what: str = "condition"
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
