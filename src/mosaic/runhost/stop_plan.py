"""When a run has to be over, and why: asked for once or many times, it only ever gets sooner."""

from __future__ import annotations

import math


class StopPlan:
    def __init__(self) -> None:
        # The first reason stays: what follows (another stop, a limit) is a consequence.
        self.reason = ""
        self.deadline = math.inf

    @property
    def is_stopping(self) -> bool:
        return bool(self.reason)

    def request(self, reason: str, grace_s: float, now: float) -> bool:
        """True for the first request, which must be passed on to the worker."""
        is_first = not self.is_stopping
        if is_first:
            self.reason = reason
        self.deadline = min(self.deadline, now + grace_s)
        return is_first

    def is_due(self, now: float) -> bool:
        return now >= self.deadline
