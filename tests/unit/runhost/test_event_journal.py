"""The journal gets whole lines and, on a full disk, keeps what it could not write yet."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from mosaic.runhost.event_journal import EventJournal

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
