"""Streams of bytes as lines, in bounded memory: one by one, or only the last ones kept."""

from __future__ import annotations


class LineSplitter:
    """A line that is too long is skipped and counted."""

    def __init__(self, max_line_bytes: int) -> None:
        self._max = max_line_bytes
        self._partial = bytearray()
        self._skipping = False
        self.oversized = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines this chunk completes, without their newlines."""
        first, *rest = chunk.split(b"\n")
        self._extend(first)
        lines: list[bytes] = []
        for piece in rest:
            if self._skipping:
                self._skipping = False
            else:
                lines.append(bytes(self._partial))
                self._partial.clear()
            self._extend(piece)
        return lines

    def flush(self) -> bytes:
        """The last line when the stream ended without a newline; empty otherwise."""
        line = bytes(self._partial)
        self._partial.clear()
        self._skipping = False
        return line

    def _extend(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._partial) + len(piece) > self._max:
            self._partial.clear()
            self._skipping = True
            self.oversized += 1
        else:
            self._partial += piece


KEPT_BYTES = 65_536
MAX_LINE_CHARACTERS = 4_000


class LastLines:
    """The last lines of a stream: independent of log rotation and a full disk."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> None:
        self._bytes += data
        if len(self._bytes) > 2 * KEPT_BYTES:
            del self._bytes[:-KEPT_BYTES]

    def lines(self, count: int) -> tuple[str, ...]:
        """The last lines as text; of a progress bar's line, what a terminal would show."""
        text = self._bytes[-KEPT_BYTES:].decode("utf-8", errors="replace")
        rows = [row.rstrip("\r").rpartition("\r")[2] for row in text.split("\n")]
        shown = [row[-MAX_LINE_CHARACTERS:] for row in rows if row.strip()]
        return tuple(shown[-count:])
