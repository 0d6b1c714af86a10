"""The last lines of a stream, kept in memory: independent of log rotation and a full disk."""

from __future__ import annotations

KEPT_BYTES = 65_536
MAX_LINE_CHARACTERS = 4_000


class LastLines:
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
