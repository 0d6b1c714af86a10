"""How a command ends early: error messages, exit statuses, and Ctrl-C.

Whoever follows a run can rely on Ctrl-C, whatever gRPC does with the exception.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from mosaic.cli.shared.terminal import paint, printable, printable_json, say_to_stderr
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.errors import MosaicError

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
OUTCOME_STATUS = {Outcome.SUCCEEDED: 0, Outcome.FAILED: 1, Outcome.CANCELED: 9}


def outcome_status(record: RunRecord) -> int:
    return OUTCOME_STATUS[record.outcome] if record.outcome else 0


def report(error: MosaicError, as_json: bool) -> int:
    """Print the error and return its exit status."""
    if as_json:
        say_to_stderr(printable_json(json.dumps({"error": error.to_dict()}, default=str)))
        return error.exit_status
    label = paint("mosaic:", "red", sys.stderr)
    say_to_stderr(f"{label} {printable(error.message)}")
    for line in error.details.get("stderr_tail", ()):
        say_to_stderr(f"  | {printable(str(line))}")
    if error.hint:
        say_to_stderr(f"{paint('hint:', 'yellow', sys.stderr)} {printable(error.hint)}")
    return error.exit_status


INTERRUPT_GRACE_S = 3.0


@contextlib.contextmanager
def guaranteed_interrupt(say_goodbye: Callable[[], None]) -> Iterator[None]:
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

    deadline = threading.Timer(INTERRUPT_GRACE_S, leave)
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
