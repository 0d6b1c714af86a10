"""Lines of JSON in a file of a run that may still grow, each with its place in the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.analytics.growing_records import CHUNK_BYTES, GrowingRecords, RecordBatch
from mosaic.contracts.manifest import artifact_path
from mosaic.errors import StoreError
from mosaic.foreign.files import parse_json

# Of one look at a file: a few tenths of a second to understand.
MOST_BYTES = 2 * 2**20


class Position(NamedTuple):
    """Up to where a file was read, and by which bytes it is known again."""

    offset: int
    head: bytes
    tail: bytes


class JsonLines(GrowingRecords):
    """A line that is too long is passed over; one without an end waits for it."""

    first_at = 0  # where the first record of the last batch lies
    _is_passing_over = False

    def restart(self) -> None:
        super().restart()
        self._is_passing_over = False

    @property
    def position(self) -> Position:
        return Position(self.offset, self._head, self._tail)

    def go_to(self, position: Position) -> None:
        self.restart()
        self.offset, self._head, self._tail = position

    def _split(self, data: bytes, available: int, batch: RecordBatch) -> int:
        begin = 0
        if self._is_passing_over:
            begin = data.find(b"\n") + 1
            if not begin:
                return len(data)
            self._is_passing_over = False
        self.first_at = self.offset + begin
        end = data.rfind(b"\n") + 1
        if end > begin:
            batch.records.extend(data[begin : end - 1].split(b"\n"))
            return end
        length = len(data) - begin
        if length >= self.max_record_bytes:
            self._report(batch, self.first_at, "a line longer than allowed, passed over,")
            self._is_passing_over = True
            return len(data)
        longer = min(2 * length, available - begin, self.max_record_bytes)
        self._wanted = max(self._chunk_bytes, longer)
        return begin


class Problems:
    """Sentences about what could not be read, each once; lines that mean nothing are counted."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._bad = 0
        self._first: tuple[Path, int] | None = None
        self._sentences: list[str] = []
        self._failure = ""

    def add(self, sentence: str) -> None:
        self._sentences.append(sentence)

    def fail(self, error: StoreError) -> None:
        """The file cannot be read; it may still be so at every further look."""
        if str(error) != self._failure:
            self._failure = str(error)
            self._sentences.append(self._failure)

    def count(self, path: Path, at: int) -> None:
        self._bad += 1
        self._first = self._first or (path, at)

    def take(self) -> tuple[str, ...]:
        found = self._sentences
        if self._first is not None:
            path, at = self._first
            many = "a line is" if self._bad == 1 else f"{self._bad:,} lines are"
            where = "at" if self._bad == 1 else "the first at"
            found = [*found, f"{path}: {many} {self._what}, passed over; {where} byte {at:,}"]
        self._sentences, self._bad, self._first = [], 0, None
        return tuple(found)


def parsed(
    lines: JsonLines, records: list[bytes], problems: Problems
) -> Iterator[tuple[dict[str, Any], int]]:
    """Of the records just read those that are objects with a kind, and where each lies."""
    at = lines.first_at
    for record in records:
        if record.strip():
            try:
                data = parse_json(record)
            except ValueError:
                data = None
            if isinstance(data, dict) and isinstance(data.get("kind"), str):
                yield data, at
            else:
                problems.count(lines.path, at)
        at += len(record) + 1


def file_named(folder: Path, named: str, field: str, *, may_leave: bool) -> Path | None:
    """None where the manifest names no such file. Raises CorruptStoreError."""
    return artifact_path(folder, named, f"agents.{field}", may_leave=may_leave) if named else None


def limits(most_bytes: int, longest_line: int) -> dict[str, int]:
    """Of one look, such that a whole line is read at some look."""
    return {"chunk_bytes": min(CHUNK_BYTES, most_bytes), "max_record_bytes": longest_line}
