"""Printed JSON lines become sound journal lines, also when the disk is full."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.runhost.event_journal import EventJournal, EventRelay, last_sequence

HEARTBEAT = b'{"type":"heartbeat"}\n'


def numbers(path: Path) -> list[int]:
    return [json.loads(line)["seq"] for line in path.read_text().splitlines()]


def test_second_attempt_goes_on_counting_and_mends_a_torn_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"type":"heartbeat","seq":6}\n{"type":"heart')
    journal = EventJournal(path)
    journal.feed(HEARTBEAT * 2)
    journal.close()
    lines = path.read_bytes().split(b"\n")
    assert lines[1] == b'{"type":"heart'
    assert [json.loads(line)["seq"] for line in lines[2:4]] == [7, 8]


def test_last_line_without_newline_counts(tmp_path: Path) -> None:
    journal = EventJournal(tmp_path / "events.jsonl")
    journal.feed(HEARTBEAT[:-1])
    assert not (tmp_path / "events.jsonl").exists()
    journal.finish()
    journal.close()
    assert numbers(tmp_path / "events.jsonl") == [0]


def test_worker_that_prints_only_text_makes_no_journal(tmp_path: Path) -> None:
    journal = EventJournal(tmp_path / "events.jsonl")
    journal.feed(b"just\ntext\n")
    journal.finish()
    journal.close()
    assert not (tmp_path / "events.jsonl").exists()


def test_full_disk_holds_the_rest_of_a_half_written_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_write = os.write
    room = 25

    def write(fd: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real_write(fd, bytes(data)[:room])
        room -= written
        return written

    monkeypatch.setattr(os, "write", write)
    path = tmp_path / "events.jsonl"
    journal = EventJournal(path)
    journal.feed(HEARTBEAT * 3)
    assert journal.is_waiting
    assert not journal.write()
    assert path.stat().st_size == 25
    room = 10_000
    assert journal.write()
    assert not journal.is_waiting
    assert numbers(path) == [0, 1, 2]
    journal.close()


def test_journal_that_cannot_be_created_holds_everything(tmp_path: Path) -> None:
    path = tmp_path / "not_yet" / "events.jsonl"
    journal = EventJournal(path)
    journal.feed(HEARTBEAT)
    assert journal.is_waiting
    path.parent.mkdir()
    assert journal.write()
    assert numbers(path) == [0]
    journal.close()


def test_a_pipe_in_the_place_of_the_journal_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    os.mkfifo(path)
    journal = EventJournal(path)
    journal.feed(HEARTBEAT)
    assert journal.is_waiting, "it is kept until there is a file again"
    path.unlink()
    assert journal.write() and path.read_bytes()
    journal.close()


def relayed(relay: EventRelay, line: bytes) -> dict[str, Any] | None:
    text = relay.translate(line)
    if text is None:
        return None
    assert text.endswith(b"\n")
    assert text.count(b"\n") == 1
    event: dict[str, Any] = json.loads(text, parse_constant=pytest.fail)
    return event


def new_relay(last_seq: int = -1) -> EventRelay:
    return EventRelay(last_seq, clock=lambda: 123.5)


def test_missing_number_and_time_are_filled_in() -> None:
    event = relayed(new_relay(41), b'{"type": "heartbeat"}')
    assert event == {"type": "heartbeat", "seq": 42, "timestamp": 123.5}


def test_own_number_and_time_are_kept_while_they_count_up() -> None:
    relay = new_relay()
    line = b'{"type":"heartbeat","seq":7,"timestamp":1.25}'
    assert relayed(relay, line) == {"type": "heartbeat", "seq": 7, "timestamp": 1.25}
    following = relayed(relay, b'{"type":"heartbeat"}')
    assert following is not None
    assert following["seq"] == 8


def test_worker_that_counts_from_zero_again_goes_on_where_the_journal_is() -> None:
    relay = new_relay(99)
    events = [relayed(relay, b'{"type":"heartbeat","seq":%d}' % n) for n in range(3)]
    assert [event["seq"] for event in events if event] == [100, 101, 102]


def test_event_with_payload_becomes_a_lifecycle_event() -> None:
    event = relayed(new_relay(), b'{"event":"run_started","run_id":"R","payload":{"a":1}}')
    assert event == {
        "type": "run_started", "run_id": "R", "payload": {"a": 1}, "seq": 0, "timestamp": 123.5,
    }  # fmt: skip


def test_sample_with_payload_is_flattened() -> None:
    event = relayed(new_relay(), b'{"event":"metric","payload":{"name":"loss","value":1,"step":2}}')
    assert event is not None
    assert (event["type"], event["name"], event["step"]) == ("metric", "loss", 2)
    assert "payload" not in event


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"Episode 3: return 20",
        b'{"type": "no_such_event"}',
        b'{"type": ["step"]}',
        b'{"type": null, "event": "heartbeat"}',
        b'{"event": 3}',
        b'{"loss": 0.5}',
        b"[1, 2]",
        b'{"type": "step", ',
        b"{" * 100_000,
        b'{"type":"metric","value":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"metric","value":' + b"9" * 10_000 + b"}",
        b"\xff\xfe{}",
        b'{"type": "step", "text": "\xff"}',
    ],
)
def test_anything_else_is_no_event(line: bytes) -> None:
    relay = new_relay()
    assert relay.translate(line) is None
    following = relayed(relay, b'{"type":"heartbeat"}')
    assert following is not None
    assert following["seq"] == 0, "a refused line takes no number"


def test_numbers_json_does_not_have_are_written_as_strings() -> None:
    line = b'{"type":"metric","value":NaN,"low":-Infinity,"huge":1e999,"timestamp":Infinity}'
    event = relayed(new_relay(), line)
    assert event is not None
    assert (event["value"], event["low"], event["huge"]) == ("NaN", "-Infinity", "Infinity")
    assert event["timestamp"] == 123.5


@pytest.mark.parametrize("seq", ["true", '"5"', "1.5", "-3", "null", "1e300", "9" * 30])
def test_number_that_is_none_is_replaced(seq: str) -> None:
    event = relayed(new_relay(4), b'{"type":"heartbeat","seq":%s}' % seq.encode())
    assert event is not None
    assert event["seq"] == 5


def test_only_steps_are_counted_as_steps() -> None:
    relay = new_relay()
    for kind in (b"step", b"episode", b"step", b"metric"):
        relay.translate(b'{"type":"%s"}' % kind)
    assert relay.steps == 2


@given(st.binary(max_size=300))
def test_no_line_raises(line: bytes) -> None:
    new_relay().translate(line)


def test_last_number_is_found_behind_a_torn_line() -> None:
    assert last_sequence(b'{"seq":3}\n{"seq":4}\n{"seq":5,"ty') == 4
    assert last_sequence(b'ail of a line"}\n{"seq":9}\n') == 9
    assert last_sequence(b'{"seq":true}\n[]\n3\n') == -1
    assert last_sequence(b"") == -1
