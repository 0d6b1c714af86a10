from __future__ import annotations

import random
from pathlib import Path

import pytest

from mosaic.contracts.events import MAX_LINE_BYTES
from mosaic.errors import StoreError
from mosaic.telemetry.journal.reader import (
    RAW_EVENT_BYTES,
    RAW_EVENTS,
    JournalChunk,
    read_chunk,
    read_raw_events,
)
from tests import journal_lines as lines


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def read_all(journal: Path, max_bytes: int) -> tuple[list[tuple[int, bytes]], list[int], int]:
    found: list[tuple[int, bytes]] = []
    too_long: list[int] = []
    offset = 0
    while True:
        chunk = read_chunk(journal, offset, max_bytes)
        found += zip(chunk.cursors, chunk.lines, strict=True)
        too_long += chunk.too_long
        if chunk.next_offset == offset:
            return found, too_long, offset
        offset = chunk.next_offset


def test_a_missing_journal_holds_nothing(journal: Path) -> None:
    assert read_chunk(journal, 0, 100) == JournalChunk(next_offset=0, size=None)


def test_a_journal_that_cannot_be_read_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be read"):
        read_chunk(tmp_path, 1, 100)


@pytest.mark.parametrize("max_bytes", [1, 2, 7, 64, 10_000])
def test_lines_and_their_cursors_do_not_depend_on_the_size_of_reads(
    journal: Path, max_bytes: int
) -> None:
    chosen = random.Random(1)
    content = b"".join(b"x" * chosen.randrange(30) + b"\n" for _ in range(200))
    journal.write_bytes(content)
    found, too_long, offset = read_all(journal, max_bytes)
    assert b"".join(line + b"\n" for _, line in found) == content
    assert all(content[cursor:].startswith(line + b"\n") for cursor, line in found)
    assert (too_long, offset) == ([], len(content))


def test_a_partial_last_line_is_left_until_it_is_whole(journal: Path) -> None:
    journal.write_bytes(b"one\ntwo")
    assert read_all(journal, 100) == ([(0, b"one")], [], 4)
    lines.append(journal, [b"!\n"])
    assert read_chunk(journal, 4, 100).lines == [b"two!"]


def test_a_line_of_the_greatest_length_is_kept(journal: Path) -> None:
    longest = b"x" * MAX_LINE_BYTES
    journal.write_bytes(b"a\n" + longest + b"\nb\n")
    found, too_long, _ = read_all(journal, 1000)
    assert [line for _, line in found] == [b"a", longest, b"b"]
    assert too_long == []


@pytest.mark.parametrize("max_bytes", [1000, MAX_LINE_BYTES, 4 * MAX_LINE_BYTES])
@pytest.mark.parametrize("excess", [1, MAX_LINE_BYTES * 3])
def test_a_longer_line_is_passed_over_and_told_once(
    journal: Path, max_bytes: int, excess: int
) -> None:
    journal.write_bytes(b"a\n" + b"x" * (MAX_LINE_BYTES + excess) + b"\nb\n")
    found, too_long, offset = read_all(journal, max_bytes)
    assert [line for _, line in found] == [b"a", b"b"]
    assert too_long == [2]
    assert offset == journal.stat().st_size


def test_a_line_too_long_is_passed_over_while_it_is_still_being_written(journal: Path) -> None:
    journal.write_bytes(b"a\n" + b"x" * (MAX_LINE_BYTES + 1))
    _, too_long, offset = read_all(journal, 100)
    assert (too_long, offset) == ([2], MAX_LINE_BYTES + 3)
    lines.append(journal, [b"x" * 500])
    assert read_chunk(journal, offset, 100).next_offset == offset + 500
    lines.append(journal, [b"x\nb\n"])
    chunk = read_chunk(journal, offset, 10_000)
    assert (chunk.lines, chunk.too_long) == ([b"b"], [])


def test_the_number_of_lines_in_a_chunk_is_bounded(journal: Path) -> None:
    journal.write_bytes(b"\n" * 100)
    chunk = read_chunk(journal, 0, 1000, max_lines=30)
    assert (len(chunk.lines), chunk.next_offset) == (30, 30)


def test_raw_events_are_the_valid_lines_and_nothing_else(journal: Path) -> None:
    good = [lines.registered(), lines.step(1), lines.metric(2), lines.step(3)]
    bad = [b"garbage\n", b"\n", lines.step(9, run_id=lines.OTHER_RUN_ID), b"{}\n"]
    mixed = [line for pair in zip(good, bad, strict=True) for line in pair]
    lines.append(journal, mixed)
    events, cursor = read_raw_events(journal, 0, run_id=lines.RUN_ID)
    assert events == [line.rstrip() for line in good]
    assert cursor == journal.stat().st_size
    assert read_raw_events(journal, cursor) == ([], cursor)


def test_raw_events_can_be_limited_to_types_and_to_an_end(journal: Path) -> None:
    written = [lines.step(1), lines.metric(2), lines.step(3), lines.metric(4)]
    lines.append(journal, written)
    assert read_raw_events(journal, 0, {"metric"})[0] == [written[1][:-1], written[3][:-1]]
    end = len(written[0] + written[1])
    assert read_raw_events(journal, 0, end=end) == ([written[0][:-1], written[1][:-1]], end)
    assert read_raw_events(journal, 0, end=end + 5)[1] == end


def test_raw_events_come_in_bounded_batches_without_gap(journal: Path) -> None:
    small = [lines.step(seq) for seq in range(2 * RAW_EVENTS + 5)]
    large = [lines.metric(seq, name="n", value=1.0) for seq in range(3)]
    large = [line.replace(b'"n"', b'"n","x":"' + b"y" * 700_000 + b'"') for line in large]
    lines.append(journal, small + large)
    batches, cursor = [], 0
    while True:
        events, next_cursor = read_raw_events(journal, cursor)
        if next_cursor == cursor:
            break
        batches.append(events)
        cursor = next_cursor
    assert [line + b"\n" for events in batches for line in events] == small + large
    assert all(len(events) <= RAW_EVENTS for events in batches)
    assert all(len(events) <= 1 or sum(map(len, events)) <= RAW_EVENT_BYTES for events in batches)


def test_any_cursor_inside_a_line_goes_on_with_the_next(journal: Path) -> None:
    lines.append(journal, [lines.step(1), lines.step(2)])
    middle = len(lines.step(1)) // 2
    assert read_raw_events(journal, middle)[0] == [lines.step(2)[:-1]]
