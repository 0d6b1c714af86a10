"""Appends the events a worker prints to the journal; on a full disk it holds them back."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.contracts.events import LIFECYCLE_TYPES, MAX_LINE_BYTES, EventType, finite_json
from mosaic.files import sync_directory
from mosaic.foreign.files import open_regular
from mosaic.runhost.output_lines import LineSplitter

_TYPES = frozenset(member.value for member in EventType)
# Lifecycle events keep what belongs to them in `payload`; these have it at the top.
_FLAT_TYPES = _TYPES - LIFECYCLE_TYPES | {EventType.WORKER_REGISTERED.value}
# The largest integer every JSON reader and SQLite hold exactly.
_MAX_SEQ = 2**53
# Made once, not per line as `json.dumps` with these options would.
_decode = json.JSONDecoder().decode
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class EventRelay:
    """Turns the JSON lines a worker prints into journal lines; everything else is only log."""

    def __init__(self, last_seq: int, clock: Callable[[], float] = time.time) -> None:
        self._last_seq = last_seq
        self._clock = clock
        self.steps = 0

    def translate(self, line: bytes) -> bytes | None:
        """The journal line (with newline) for a printed line, or None when it is not an event."""
        # Most output of most workers is text; do not parse it.
        if not line.lstrip().startswith(b"{"):
            return None
        try:
            event = _decode(line.decode())
            if not _adopt_type(event):
                return None
            event["seq"] = seq = self._next_seq(event.get("seq"))
            if not _is_number(event.get("timestamp")):
                event["timestamp"] = self._clock()
            text = _strict_json(event)
        except (ValueError, RecursionError):
            return None
        self._last_seq = seq
        self.steps += event["type"] == EventType.STEP.value
        return text.encode() + b"\n"

    def _next_seq(self, own: Any) -> int:
        """The worker's own number while it counts up: a gap then tells of a lost line."""
        is_count = isinstance(own, int) and not isinstance(own, bool)
        return own if is_count and self._last_seq < own <= _MAX_SEQ else self._last_seq + 1


def _adopt_type(event: Any) -> bool:
    """Give the event its `type`, also when it came as `event` with `payload`; false if unknown."""
    if not isinstance(event, dict):
        return False
    if "type" in event:
        return isinstance(event["type"], str) and event["type"] in _TYPES
    name = event.get("event")
    if not isinstance(name, str) or name not in _TYPES:
        return False
    event["type"] = event.pop("event")
    if name in _FLAT_TYPES and isinstance(event.get("payload"), dict):
        for key, value in event.pop("payload").items():
            event.setdefault(key, value)
    return True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value - value == 0


def _strict_json(event: dict[str, Any]) -> str:
    try:
        return _encode(event)
    except ValueError:
        return _encode(finite_json(event))


_TAIL_BYTES = 4 * MAX_LINE_BYTES


def last_sequence(tail: bytes) -> int:
    """The `seq` of the last sound line in the end of a journal, or -1."""
    for line in reversed(tail.split(b"\n")):
        try:
            seq = json.loads(line)["seq"]
        except (ValueError, TypeError, KeyError, RecursionError):
            continue
        if isinstance(seq, int) and not isinstance(seq, bool):
            return seq
    return -1


class EventJournal:
    """Opened at the first event. While `is_waiting`, the caller must not feed it more."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._splitter = LineSplitter(MAX_LINE_BYTES)
        self._relay: EventRelay | None = None
        self._fd: int | None = None
        self._unwritten = bytearray()

    @property
    def steps(self) -> int:
        return self._relay.steps if self._relay else 0

    @property
    def oversized(self) -> int:
        return self._splitter.oversized

    @property
    def is_waiting(self) -> bool:
        """Bytes could not be written yet: the disk is full."""
        return bool(self._unwritten)

    def feed(self, data: bytes) -> None:
        self._take(self._splitter.feed(data))

    def finish(self) -> None:
        """Take the last line, even without its newline."""
        self._take([self._splitter.flush()])

    def write(self) -> bool:
        """Try to get everything held onto the disk; false while there is no room."""
        try:
            while self._unwritten:
                written = os.write(self._descriptor(), self._unwritten)
                # A short write leaves half a line; the rest of it comes next, from here.
                del self._unwritten[:written]
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Durable before exit.json says that the run is over."""
        if self._fd is not None:
            # The bytes are with the kernel, and there is no second chance for an fsync.
            with contextlib.suppress(OSError):
                os.fsync(self._fd)
                sync_directory(self._path.parent)
            os.close(self._fd)
            self._fd = None

    def _take(self, lines: list[bytes]) -> None:
        if not any(lines):
            return
        if self._relay is None:
            self._relay = EventRelay(self._prepare())
        translated = (self._relay.translate(line) for line in lines)
        self._unwritten += b"".join(line for line in translated if line is not None)
        self.write()

    def _descriptor(self) -> int:
        if self._fd is None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            # As for a log: the worker may have put a link or a FIFO there.
            self._fd = os.open(self._path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        return self._fd

    def _prepare(self) -> int:
        """Read where an earlier attempt stopped, and finish the line it may have torn."""
        try:
            with open(open_regular(self._path, follow_links=False), "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL_BYTES))
                tail = file.read()
        except OSError:
            return -1
        if tail and not tail.endswith(b"\n"):
            self._unwritten += b"\n"
        return last_sequence(tail)
