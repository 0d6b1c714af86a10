"""Reads whole lines of a growing journal from any byte offset, in bounded memory.

The journal may be packed in the meantime; its offsets always are those of the plain one.

A line's cursor is the byte offset at which it starts. An offset that is not preceded by a newline
lies inside a line that was too long; reading continues after its end. So the offset alone says
where reading stands, and nothing else has to survive a restart.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from mosaic.contracts.events import MAX_LINE_BYTES
from mosaic.errors import StoreError
from mosaic.telemetry.journal.decoder import EVENT_TYPES, EventDecoder, Rejected
from mosaic.telemetry.journal.files import opened_journal

# Bounds memory and time when a journal consists of nothing but tiny lines.
MAX_LINES = 20_000
RAW_READ_BYTES = 262_144
RAW_EVENTS = 1000
RAW_EVENT_BYTES = 1_048_576


@dataclass(frozen=True)
class JournalChunk:
    """Whole lines without their newlines, where each starts, and where to continue."""

    lines: list[bytes] = field(default_factory=list)
    cursors: list[int] = field(default_factory=list)
    too_long: list[int] = field(default_factory=list)
    next_offset: int = 0
    # Size of the journal when it was read; None when there is none.
    size: int | None = None


def read_chunk(
    path: Path, offset: int, max_bytes: int, end: int | None = None, max_lines: int = MAX_LINES
) -> JournalChunk:
    """About `max_bytes` of lines from `offset` to `end`; a partial last line is left for later."""
    try:
        return _read(path, offset, max_bytes, end, max_lines)
    except FileNotFoundError:
        return JournalChunk(next_offset=offset)
    except OSError as error:
        raise StoreError(
            f"The journal {path} cannot be read: {error.strerror}",
            hint="check the disk and the file's permissions",
            path=str(path),
            errno=error.errno,
        ) from error


def _read(path: Path, offset: int, max_bytes: int, end: int | None, max_lines: int) -> JournalChunk:
    with opened_journal(path) as journal:
        size = journal.size
        available = (size if end is None else min(size, end)) - offset
        if available <= 0:
            return JournalChunk(next_offset=offset, size=size)
        data = journal.read(min(available, max_bytes), offset)
        if b"\n" not in data and available > len(data):
            data = journal.read(min(available, MAX_LINE_BYTES + 1), offset)
        is_inside_line = offset > 0 and journal.read(1, offset - 1) != b"\n"
    if is_inside_line:
        skipped = data.find(b"\n") + 1 or len(data)
        data = data[skipped:]
        offset += skipped
    return _split(data, offset, size, max_lines)


def _split(data: bytes, offset: int, size: int, max_lines: int) -> JournalChunk:
    *lines, rest = data.split(b"\n", max_lines)
    *cursors, next_offset = accumulate((len(line) + 1 for line in lines), initial=offset)
    too_long: list[int] = []
    if max(map(len, lines), default=0) > MAX_LINE_BYTES:
        placed = list(zip(cursors, lines, strict=True))
        too_long = [cursor for cursor, line in placed if len(line) > MAX_LINE_BYTES]
        kept = [(cursor, line) for cursor, line in placed if len(line) <= MAX_LINE_BYTES]
        cursors = [cursor for cursor, _ in kept]
        lines = [line for _, line in kept]
    if len(rest) > MAX_LINE_BYTES and b"\n" not in rest:
        # Its end is not even written yet: pass over what there is and never hold it in memory.
        too_long.append(next_offset)
        next_offset += len(rest)
    return JournalChunk(lines, cursors, too_long, next_offset, size)


def read_raw_events(
    path: Path,
    start: int,
    types: Set[str] = frozenset(),
    *,
    end: int | None = None,
    run_id: str | None = None,
) -> tuple[list[bytes], int]:
    """The JSON of the next valid events (of these types) and the cursor to continue from.

    No events and an advanced cursor mean: nothing of these types so far, ask again. No events
    and the same cursor mean: no whole line there yet.
    """
    chunk = read_chunk(path, start, RAW_READ_BYTES, end)
    decoder = EventDecoder(run_id)
    events: list[bytes] = []
    room = RAW_EVENT_BYTES
    for cursor, line in zip(chunk.cursors, chunk.lines, strict=True):
        event = decoder.decode(line)
        if event is None or isinstance(event, Rejected):
            continue
        if types and EVENT_TYPES[type(event)] not in types:
            continue
        if events and (len(events) == RAW_EVENTS or len(line) > room):
            return events, cursor
        events.append(line)
        room -= len(line)
    return events, chunk.next_offset


TAIL_BYTES = 4096


class JournalExtent(NamedTuple):
    # Where the last whole line ends.
    lines_end: int = 0
    size: int = 0


def journal_extent(path: Path) -> JournalExtent:
    """Nowhere when there is no journal yet."""
    try:
        with opened_journal(path) as journal:
            size = journal.size
            for length in (TAIL_BYTES, MAX_LINE_BYTES + 1):
                start = max(0, size - length)
                newline = journal.read(size - start, start).rfind(b"\n")
                if newline >= 0:
                    return JournalExtent(start + newline + 1, size)
    except FileNotFoundError:
        return JournalExtent()
    except OSError as error:
        raise StoreError(
            f"The journal {path} cannot be read: {error.strerror}",
            hint="check the disk and the file's permissions",
            path=str(path),
            errno=error.errno,
        ) from error
    # Nothing but the beginning of a line; one that is too long is never delivered.
    return JournalExtent(0 if size <= MAX_LINE_BYTES else size, size)
