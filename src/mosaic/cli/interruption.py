"""Ctrl-C that is never lost while a run is followed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from mosaic.cli.failures import INTERRUPTED

GRACE_S = 3.0


@contextlib.contextmanager
def certain_interrupt(say_goodbye: Callable[[], None]) -> Iterator[None]:
    """Raises KeyboardInterrupt as ever; leaves by force when that has no effect in time.

    The exception is swallowed where it hits a callback of gRPC, or a finalizer. Whoever follows a
    run holds nothing that must be put away, so leaving at once harms nobody.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave() -> None:
        say_goodbye()
        os._exit(INTERRUPTED)

    deadline = threading.Timer(GRACE_S, leave)
    deadline.daemon = True

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        if not deadline.is_alive():
            deadline.start()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, on_interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        deadline.cancel()
