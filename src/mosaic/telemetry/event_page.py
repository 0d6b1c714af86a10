"""A page: a stretch of one journal with the kind of each event in it, decoded once for everybody.

The ingest makes a page of what it has just stored, from rows it has decoded anyway. Whoever is
further behind than the pages in memory reads one from the journal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.contracts.events import EventType
from mosaic.telemetry.journal.decoder import (
    EVENT_TYPES,
    EpisodeEvent,
    EventDecoder,
    JournalEvent,
    MetricEvent,
    StepEvent,
)
from mosaic.telemetry.journal.reader import JournalChunk, read_chunk
from mosaic.telemetry.store.schema import COLUMNS

READ_BYTES = 262_144
# Python's overhead per line: objects for line and cursor, slots in lists.
LINE_OVERHEAD = 90


class EventKind(NamedTuple):
    """Of samples of one kind the newest stands for all: an agent's steps, a metric's points."""

    type: EventType
    # The agent of steps and episodes, the name of metrics; None for lifecycle events.
    subject: str | None = None


@dataclass(frozen=True)
class EventPage:
    """Valid events only, as lines without newline, in the order of the journal."""

    from_cursor: int
    next_cursor: int
    cursors: list[int]
    lines: list[bytes]
    kinds: list[EventKind]

    @cached_property
    def samples(self) -> int:
        return sum(kind.subject is not None for kind in self.kinds)

    @cached_property
    def size(self) -> int:
        """Bytes of memory, about."""
        return sum(map(len, self.lines)) + LINE_OVERHEAD * len(self.lines)


def page_of_rows(from_cursor: int, chunk: JournalChunk, rows: Mapping[str, list[Any]]) -> EventPage:
    """The page of a chunk whose lines have become these rows (see `event_rows.Batch`)."""
    kinds = _kinds_by_cursor(rows)
    cursors, lines = chunk.cursors, chunk.lines
    if len(kinds) < len(lines):  # some lines were blank or no events
        valid = [index for index, cursor in enumerate(cursors) if cursor in kinds]
        cursors = [cursors[index] for index in valid]
        lines = [lines[index] for index in valid]
    in_order = [kinds[cursor] for cursor in cursors]
    return EventPage(from_cursor, chunk.next_offset, cursors, lines, in_order)


def _kinds_by_cursor(rows: Mapping[str, list[Any]]) -> dict[int, EventKind]:
    def column(table: str, name: str) -> list[Any]:
        names = COLUMNS[table]
        return rows[table][names.index(name) :: len(names)]

    def kinds_of(
        table: str, subject: str, make: Callable[[str], EventKind]
    ) -> dict[int, EventKind]:
        subjects = column(table, subject)
        made = {each: make(each) for each in set(subjects)}
        return dict(zip(column(table, "cursor"), map(made.__getitem__, subjects), strict=True))

    return {
        **kinds_of("steps", "agent_id", lambda agent: EventKind(EventType.STEP, agent)),
        **kinds_of("episodes", "agent_id", lambda agent: EventKind(EventType.EPISODE, agent)),
        **kinds_of("metrics", "name", lambda name: EventKind(EventType.METRIC, name)),
        **kinds_of("summed_metrics", "name", lambda name: EventKind(EventType.METRIC, name)),
        **kinds_of("lifecycle", "type", lambda name: EventKind(EventType(name))),
    }


def read_page(path: Path, run_id: str, cursor: int) -> EventPage | None:
    """The next page of about 256 KiB; None when no whole line is there."""
    chunk = read_chunk(path, cursor, READ_BYTES)
    if chunk.next_offset == cursor:
        return None
    decoder = EventDecoder(run_id)
    page = EventPage(cursor, chunk.next_offset, [], [], [])
    for at, line in zip(chunk.cursors, chunk.lines, strict=True):
        event = decoder.decode(line)
        if isinstance(event, JournalEvent):
            page.cursors.append(at)
            page.lines.append(line)
            page.kinds.append(_kind_of(event))
    return page


def _kind_of(event: JournalEvent) -> EventKind:
    match event:
        case StepEvent() | EpisodeEvent():
            return EventKind(EVENT_TYPES[type(event)], event.agent_id or "")
        case MetricEvent():
            return EventKind(EventType.METRIC, event.name)
    return EventKind(EVENT_TYPES[type(event)])
