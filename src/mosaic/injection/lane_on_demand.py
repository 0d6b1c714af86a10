"""LaneOnDemand: a live view whose thread sleeps without a clock as long as nobody watches.

A thread of ours that wakes up has to wait for the interpreter, and a script that computes all the
time pays for that. So a lane does not look for viewers by itself here: whoever ticks anyway asks it
to.
"""

from __future__ import annotations

import threading
import time

from mosaic.fastlane.lane import Lane
from mosaic.fastlane.layout import BrokenSegmentError, Lease


class LaneOnDemand(Lane):
    def _start_over(self) -> None:
        super()._start_over()
        self._is_wanted = threading.Event()

    def look(self) -> None:
        """Wakes the pulse when somebody watches."""
        segment = self._segment
        if segment is None or self._is_wanted.is_set():
            return
        try:
            is_wanted = self._is_watched(segment.lease())
        except (OSError, BrokenSegmentError):
            is_wanted = True  # the pulse says what is wrong
        if is_wanted:
            self._is_wanted.set()

    def close(self) -> None:
        self._is_wanted.set()
        super().close()

    def _wake(self, lease: Lease) -> float:
        if self._is_watched(lease):
            return super()._wake(lease)
        wanted = self._is_wanted
        wanted.clear()
        if not self._ended.is_set():
            wanted.wait()
        return 0.0

    def _is_watched(self, lease: Lease) -> bool:
        now = time.monotonic_ns()
        return any(lease.covers(tap.slot, now) for tap in self._taps)
