"""When to render: often enough for the viewer, seldom enough for the training. Pure."""

from __future__ import annotations

DEFAULT_INTERVAL_S = 1 / 30
# Of wall time. What rendering leaves in the caches of the CPU costs the training about half as
# much again; with this it keeps 97 %.
DEFAULT_BUDGET = 0.015
LONGEST_PAUSE_S = 5.0  # however dear rendering is, a viewer sees that something lives


class Pacer:
    """Every frame pays for itself: after it the training has the rest of the time to itself."""

    def __init__(
        self, interval_s: float = DEFAULT_INTERVAL_S, budget: float = DEFAULT_BUDGET
    ) -> None:
        if not interval_s >= 0 or not 0 < budget <= 1:
            raise ValueError(f"interval {interval_s} s, budget {budget}")
        self.interval_s, self.budget = interval_s, budget
        self.next_at = 0.0

    def is_due(self, now: float) -> bool:
        return now >= self.next_at

    def rendered(self, started: float, ended: float) -> None:
        price = min((ended - started) / self.budget, LONGEST_PAUSE_S)
        self.next_at = started + max(self.interval_s, price)
