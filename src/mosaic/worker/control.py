"""Requests to the worker: stop, pause and unpause, by lines on stdin and by signals.

Signal handlers run between two instructions of the main thread, so nothing here takes a lock
that the main thread could be holding: requests are plain assignments plus a `SimpleQueue`, whose
`put` is made for that.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Any

from mosaic.logs import get_logger

USER_CANCEL = "user_cancel"
MAX_STEPS = "max_steps"
TIME_LIMIT = "time_limit"
# A run that used up its budget did what it was asked to; all other stops cancel it.
BUDGET_REASONS = frozenset({MAX_STEPS, TIME_LIMIT})
_SIGNAL_REASONS = {signal.SIGTERM: "sigterm", signal.SIGINT: "sigint"}
_MAX_COMMAND_BYTES = 1_048_576

Command = dict[str, Any]

log = get_logger(__name__)


class Control:
    """What has been asked of this worker so far."""

    def __init__(self, on_command: Callable[[Command], None] | None = None) -> None:
        self.on_command = on_command
        self.stop_reason = ""
        # How long after the request the worker is killed, where the request says so.
        self.stop_grace_s: float | None = None
        self.is_paused = False
        # The one thing a training loop has to look at: False while nothing is asked.
        self.needs_attention = False
        self._changed: SimpleQueue[None] = SimpleQueue()

    def request_stop(self, reason: str) -> None:
        # A signal does not say why; the line that usually comes with it does.
        if not self.stop_reason or self.stop_reason in _SIGNAL_REASONS.values():
            self.stop_reason = reason or USER_CANCEL
        self.needs_attention = True
        self._changed.put(None)

    def pause(self) -> None:
        self.is_paused = True
        self.needs_attention = True

    def unpause(self) -> None:
        self.is_paused = False
        self._changed.put(None)

    def wait_while_paused(self) -> None:
        while self.is_paused and not self.stop_reason:
            # A signal that arrives in another thread does not wake this one, so check now and then.
            with contextlib.suppress(Empty):
                self._changed.get(timeout=0.5)

    def settle(self) -> bool:
        """Whether to stop. Lowers the flag before it looks, so no request falls in between."""
        self.needs_attention = False
        if self.stop_reason or self.is_paused:
            self.needs_attention = True
        return bool(self.stop_reason)

    def handle(self, command: Command) -> None:
        name = command.get("command")
        if name == "stop":
            grace = command.get("grace_s")
            if isinstance(grace, int | float) and not isinstance(grace, bool) and grace >= 0:
                self.stop_grace_s = float(grace)
            self.request_stop(str(command.get("reason") or USER_CANCEL))
        elif name == "pause":
            self.pause()
        elif name == "resume":
            self.unpause()
        elif self.on_command is not None:
            self.on_command(command)
        else:
            log.warning("command.ignored", command=str(name)[:64])

    def handle_line(self, line: bytes) -> None:
        try:
            command = json.loads(line)
        except (ValueError, RecursionError):
            command = None
        if not isinstance(command, dict):
            log.warning("command.malformed", size=len(line))
            return
        self.handle(command)


def listen_on_stdin(control: Control) -> None:
    """Read commands until the other side closes the pipe."""
    # A private copy: a child of the worker that reads its stdin must not swallow our commands.
    try:
        fd = os.dup(0)
    except OSError as error:
        log.warning("control.lost", error=error.strerror)
        return
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)
    # os.read, not sys.stdin: a daemon thread inside a buffered read aborts the interpreter's exit.
    threading.Thread(target=_read_commands, args=(fd, control), name="control", daemon=True).start()


def _read_commands(fd: int, control: Control) -> None:
    rest = b""
    while chunk := os.read(fd, 65_536):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > _MAX_COMMAND_BYTES:
            log.warning("command.malformed", size=len(rest))
            rest = b""
        for line in lines:
            if line.strip():
                control.handle_line(line)
    os.close(fd)


def listen_to_signals(control: Control) -> Callable[[], None]:
    """SIGTERM and SIGINT ask to stop; a second SIGINT interrupts. Returns how to undo this."""
    if threading.current_thread() is not threading.main_thread():
        return lambda: None

    def on_signal(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGINT and control.stop_reason:
            raise KeyboardInterrupt
        control.request_stop(_SIGNAL_REASONS[signal.Signals(number)])

    previous = {number: signal.signal(number, on_signal) for number in _SIGNAL_REASONS}

    def restore() -> None:
        for number, handler in previous.items():
            if signal.getsignal(number) is on_signal:
                signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    _restore_in_children(restore)
    return restore


def _restore_in_children(restore: Callable[[], None]) -> None:
    """A forked child that took SIGTERM for a request could not be terminated by its parent.

    The signals wait until the child has its old handlers, so that none is lost in between.
    """
    mask = threading.local()

    def block() -> None:
        mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNAL_REASONS)

    def unblock() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask.before)

    def restore_and_unblock() -> None:
        restore()
        unblock()

    os.register_at_fork(before=block, after_in_parent=unblock, after_in_child=restore_and_unblock)
