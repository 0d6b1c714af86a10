"""Signals as something the loop can wait for: each one arrives as a byte on a pipe."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence


class SignalWakeup:
    """From now on these signals, held back since the launch, are delivered and only noted."""

    def __init__(self, numbers: Sequence[signal.Signals]) -> None:
        self.fd, self._write_end = os.pipe()
        os.set_blocking(self.fd, False)
        os.set_blocking(self._write_end, False)
        # A full pipe loses nothing that matters: a wake-up is pending already.
        signal.set_wakeup_fd(self._write_end, warn_on_full_buffer=False)
        for number in numbers:
            signal.signal(number, _note)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    def received(self) -> set[int]:
        try:
            return set(os.read(self.fd, 65_536))
        except BlockingIOError:
            return set()


def _note(_number: int, _frame: object) -> None:
    """The wake-up descriptor has done the work."""
