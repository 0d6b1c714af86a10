"""How much memory a run holds, with pages that its processes share counted once."""

from __future__ import annotations

import time
from collections.abc import Collection

from mosaic.runhost.control_groups import ControlGroups
from mosaic.runhost.process_tree import proportional_bytes, resident_bytes

# The most of our time that goes into looking at every page: while the run may be above its limit,
# and while all we want is to know.
WORRIED_SHARE = 0.05
CALM_SHARE = 0.005
_MB = 1_048_576


class MemoryMeter:
    def __init__(self, groups: ControlGroups, limit_mb: int | None) -> None:
        self._groups = groups
        self._limit_mb = limit_mb
        self._shared_fairly_mb = float("inf")  # as of the last look at every page
        self._looked_at = float("-inf")
        self._look_took_s = 0.0
        self.peak_mb = 0.0

    def used_mb(self, pids: Collection[int]) -> float:
        """By the run's control group where it counts memory, else by what its processes map."""
        counted = self._groups.memory_bytes()
        used = counted / _MB if counted is not None else self._mapped_mb(pids)
        self.peak_mb = max(self.peak_mb, used)
        return used

    def _mapped_mb(self, pids: Collection[int]) -> float:
        # Too much where processes share pages, but never too little, and quickly known.
        at_most = sum(map(resident_bytes, pids)) / _MB
        if len(pids) < 2:
            return at_most
        is_worrying = self._limit_mb is not None and at_most > self._limit_mb
        pause_s = self._look_took_s / (WORRIED_SHARE if is_worrying else CALM_SHARE)
        now = time.monotonic()
        if now >= self._looked_at + pause_s:
            self._shared_fairly_mb = sum(map(proportional_bytes, pids)) / _MB
            self._looked_at = time.monotonic()
            self._look_took_s = self._looked_at - now
        return min(at_most, self._shared_fairly_mb)
