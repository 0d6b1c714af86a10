"""Reaps the worker and the orphans the host adopts, and adds up what they used."""

from __future__ import annotations

import os


class Reaper:
    def __init__(self, leader: int) -> None:
        self._leader = leader
        self.leader_status: int | None = None
        self.cpu_seconds = 0.0
        self.max_rss_mb = 0.0

    @property
    def leader_is_over(self) -> bool:
        return self.leader_status is not None

    @property
    def exit_code(self) -> int | None:
        return self._outcome if self._outcome is not None and self._outcome >= 0 else None

    @property
    def signal(self) -> int | None:
        return -self._outcome if self._outcome is not None and self._outcome < 0 else None

    def reap(self) -> bool:
        """Collect whoever has ended; true while we still have children."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            # Each one's figures include the children it waited for itself.
            self.cpu_seconds += usage.ru_utime + usage.ru_stime
            self.max_rss_mb = max(self.max_rss_mb, usage.ru_maxrss / 1024)
            if pid == self._leader:
                self.leader_status = status

    @property
    def _outcome(self) -> int | None:
        status = self.leader_status
        return None if status is None else os.waitstatus_to_exitcode(status)
