"""Cuts a stream of bytes into lines in bounded memory: a line too long is skipped and counted."""

from __future__ import annotations


class LineSplitter:
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
