"""Signs of life: a thread that reports progress and memory at a fixed interval."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


class Heartbeat:
    """Calls `beat` every `interval_s` seconds until stopped."""

    def __init__(self, interval_s: float, beat: Callable[[], None]) -> None:
        self._interval_s = interval_s
        self._beat = beat
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Returns when no further beat can come; a beat that hangs is not waited for long."""
        self._stopped.set()
        self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._stopped.wait(self._interval_s):
            self._beat()


class Rate:
    """Steps per second since the last look."""

    def __init__(self) -> None:
        self._steps = 0
        self._at = time.monotonic()

    def since_last_look(self, steps: int) -> float:
        now = time.monotonic()
        rate = (steps - self._steps) / max(now - self._at, 1e-3)
        self._steps, self._at = steps, now
        return rate


def resident_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return pages * _PAGE_BYTES / 1e6
