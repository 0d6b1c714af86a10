"""What people are told while something is installed: never backwards, and not too often."""

from __future__ import annotations

import time
from collections.abc import Callable

from mosaic.contracts.bundles import InstallPhase, InstallProgress

Report = Callable[[InstallProgress], None]
# Where in the whole each phase begins and ends; fetching takes longest where there is a network.
_SHARES = {
    InstallPhase.WAITING: (0.0, 0.0),
    InstallPhase.FETCHING: (0.0, 0.75),
    InstallPhase.BUILDING: (0.75, 0.92),
    InstallPhase.TESTING: (0.92, 0.99),
    InstallPhase.DONE: (1.0, 1.0),
}
_EVERY_S = 0.1


class InstallReport:
    """Turns how far each phase is into how far the whole is."""

    def __init__(self, report: Report, total_bytes: int) -> None:
        self._report = report
        self._total = total_bytes
        self._done = 0
        self._fraction = 0.0
        self._last: InstallProgress | None = None
        self._told_at = 0.0

    def tell(self, phase: InstallPhase, item: str = "", within: float = 0.0) -> None:
        """`within`: how much of this phase is done, between 0 and 1."""
        begin, end = _SHARES[phase]
        reached = begin + (end - begin) * min(1.0, max(0.0, within))
        self._fraction = max(self._fraction, reached)
        if phase in (InstallPhase.BUILDING, InstallPhase.TESTING, InstallPhase.DONE):
            self._done = self._total
        now = InstallProgress(phase, item, self._done, self._total, round(self._fraction, 4))
        last = self._last
        is_news = last is None or (last.phase, last.item) != (phase, item)
        is_due = time.monotonic() - self._told_at >= _EVERY_S
        if now != last and (is_news or is_due):
            self._last, self._told_at = now, time.monotonic()
            self._report(now)

    def fetched(self, item: str, done_bytes: int) -> None:
        self._done = max(self._done, min(done_bytes, self._total))
        self.tell(InstallPhase.FETCHING, item, self._done / self._total if self._total else 0.0)
