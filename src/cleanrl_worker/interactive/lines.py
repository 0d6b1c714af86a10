"""JSON lines on stdin and stdout: commands into a queue, messages out, one a line."""

from __future__ import annotations

import json
import os
import threading
from queue import SimpleQueue
from typing import Any

from mosaic.files import write_all

MAX_LINE_BYTES = 1_048_576
STOP = {"cmd": "stop"}


class MalformedLine(str):
    """In place of a command: why the line is none."""

    __slots__ = ()


Inbox = SimpleQueue[Any]


def read_commands(fd: int, inbox: Inbox) -> None:
    """Read until the other side closes its end, which means stop. Runs in a thread."""
    # os.read: a daemon thread inside a buffered read would abort the interpreter's exit.
    threading.Thread(target=_read, args=(fd, inbox), name="commands", daemon=True).start()


def _read(fd: int, inbox: Inbox) -> None:
    rest, is_skipping = b"", False
    while chunk := os.read(fd, 65_536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip() and not is_skipping:
                inbox.put(parse_command(line))
            is_skipping = False
        if len(rest) > MAX_LINE_BYTES:
            if not is_skipping:
                inbox.put(MalformedLine(f"a line has more than {MAX_LINE_BYTES} bytes"))
            rest, is_skipping = b"", True
    if rest.strip() and not is_skipping:
        inbox.put(parse_command(rest))
    inbox.put(STOP)


def parse_command(line: bytes) -> Any:
    try:
        command = json.loads(line)
    except (ValueError, RecursionError):
        return MalformedLine("the line is not JSON")
    return command if isinstance(command, dict) else MalformedLine("a command is a JSON object")


class Outbox:
    """Owns what was stdout: whatever else prints in this process ends up on stderr."""

    def __init__(self) -> None:
        self._fd = os.dup(1)
        os.dup2(2, 1)

    def send(self, message: dict[str, Any]) -> bool:
        """False when nobody reads any more."""
        try:
            write_all(self._fd, json.dumps(message, allow_nan=False).encode() + b"\n")
        except BrokenPipeError:
            return False
        return True

    def close(self) -> None:
        os.dup2(self._fd, 1)
        os.close(self._fd)
