"""The page the ingest makes is the page a reader of the journal makes."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.events import EventType
from mosaic.errors import StoreError
from mosaic.telemetry.event_page import EventKind, EventPage, read_page
from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry.journal.reader import journal_extent
from tests import journal_lines as lines
from tests.journal_lines import RUN_ID

EVENTS = [
    lines.registered(0),
    lines.step(1),
    lines.step(2, agent_id="agent-2"),
    b"\n",
    lines.metric(3, name="loss"),
    b"no event\n",
    lines.line("metric", 4, name="other run", value=1.0, step=0, run_id=lines.OTHER_RUN_ID),
    lines.episode(5),
    lines.lifecycle("heartbeat", 6),
    lines.metric(7, value="NaN"),
    lines.lifecycle("run_completed", 8),
]
KINDS = [
    EventKind(EventType.WORKER_REGISTERED),
    EventKind(EventType.STEP, ""),
    EventKind(EventType.STEP, "agent-2"),
    EventKind(EventType.METRIC, "loss"),
    EventKind(EventType.EPISODE, ""),
    EventKind(EventType.HEARTBEAT),
    EventKind(EventType.METRIC, "loss"),
    EventKind(EventType.RUN_COMPLETED),
]


def ingested(journal: Path, store: Path) -> EventPage:
    ingest = JournalIngest(RUN_ID, journal, store)
    page = ingest.step(with_page=True).page
    ingest.close()
    assert page is not None
    return page


def test_both_ways_give_the_same_page(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    lines.append(journal, EVENTS)
    page = ingested(journal, tmp_path / "store.sqlite")
    assert page == read_page(journal, RUN_ID, 0)
    assert page.kinds == KINDS
    assert page.samples == 5
    data = journal.read_bytes()
    for cursor, text in zip(page.cursors, page.lines, strict=True):
        assert data[cursor : cursor + len(text) + 1] == text + b"\n"
    assert (page.from_cursor, page.next_cursor) == (0, len(data))


def test_page_without_events_still_says_how_far_it_reaches(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    lines.append(journal, [b"nothing\n", b"\n"])
    page = ingested(journal, tmp_path / "store.sqlite")
    assert page == read_page(journal, RUN_ID, 0) == EventPage(0, 9, [], [], [])
    assert (page.samples, page.size) == (0, 0)


def test_page_is_made_only_when_asked_for(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    lines.append(journal, EVENTS)
    ingest = JournalIngest(RUN_ID, journal, tmp_path / "store.sqlite")
    assert ingest.step().page is None
    assert ingest.step(with_page=True).page is None  # nothing new
    ingest.close()


def test_half_a_line_is_no_page(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    assert read_page(journal, RUN_ID, 0) is None
    journal.write_bytes(b'{"type": "step"')
    assert read_page(journal, RUN_ID, 0) is None


def test_extent_leaves_out_the_line_being_written(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    assert journal_extent(journal) == (0, 0)
    for whole, half in ((b"", b"half"), (b"a\nb\n", b""), (b"a\n", b"x" * 10_000)):
        journal.write_bytes(whole + half)
        assert journal_extent(journal) == (len(whole), len(whole + half))


def test_extent_passes_over_a_line_that_is_too_long(tmp_path: Path) -> None:
    journal = tmp_path / "events.jsonl"
    journal.write_bytes(b"x" * 1_100_000)
    assert journal_extent(journal) == (1_100_000, 1_100_000)


def test_journal_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=str(tmp_path)) as refused:
        journal_extent(tmp_path)  # a folder
    assert refused.value.hint
