"""Appends a worker's printed events to the journal; on a full disk it holds them back."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path

from mosaic.contracts.events import MAX_LINE_BYTES
from mosaic.files import sync_directory
from mosaic.foreign_files import open_regular
from mosaic.runhost.event_relay import EventRelay
from mosaic.runhost.line_splitter import LineSplitter

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
            # Not blocking: an earlier attempt may have left a pipe that nobody reads.
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK
            self._fd = os.open(self._path, flags, 0o600)
        return self._fd

    def _prepare(self) -> int:
        """Read where an earlier attempt stopped, and finish the line it may have torn."""
        try:
            with os.fdopen(open_regular(self._path), "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - _TAIL_BYTES))
                tail = file.read()
        except OSError:
            return -1
        if tail and not tail.endswith(b"\n"):
            self._unwritten += b"\n"
        return last_sequence(tail)
