"""Logs arrive whole and once, through rotation and reconnection."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.daemon.bus.run_bus import RunFeed
from mosaic.daemon.history.logs import LogTail, stream_logs
from mosaic.errors import ConfigError


def read_all(tail: LogTail) -> bytes:
    read = b""
    while piece := tail.read():
        read += piece.data
    return read


def rotate(path: Path) -> None:
    for number in (1, 0):
        source = path.with_name(f"{path.name}.{number}") if number else path
        if source.exists():
            source.rename(path.with_name(f"{path.name}.{number + 1}"))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "w.stdout.log"


def test_a_log_that_does_not_exist_yet_is_empty_and_then_read(log: Path) -> None:
    tail = LogTail("stdout", log)
    assert tail.read() is None
    log.write_bytes(b"hello\n")
    assert read_all(tail) == b"hello\n"
    tail.close()


def test_rotated_files_come_first_and_nothing_is_lost_while_following(log: Path) -> None:
    log.write_bytes(b"1\n")
    rotate(log)
    log.write_bytes(b"2\n")
    tail = LogTail("stdout", log)
    assert read_all(tail) == b"1\n2\n"
    with log.open("ab") as file:
        file.write(b"3\n")
    rotate(log)
    log.write_bytes(b"4\n")
    assert read_all(tail) == b"3\n4\n"
    tail.close()


@pytest.mark.parametrize(("lines", "expected"), [(1, b"c\n"), (2, b"b\nc\n"), (9, b"a\nb\nc\n")])
def test_the_tail_starts_at_whole_lines(log: Path, lines: int, expected: bytes) -> None:
    log.write_bytes(b"a\nb\nc\n")
    tail = LogTail("stdout", log)
    tail.start_at_tail(lines)
    assert read_all(tail) == expected
    tail.close()


def test_a_cursor_goes_on_exactly_behind_also_after_rotation(log: Path) -> None:
    log.write_bytes(b"first\n")
    tail = LogTail("stdout", log)
    piece = tail.read()
    assert piece is not None
    tail.close()
    with log.open("ab") as file:
        file.write(b"second\n")
    rotate(log)
    log.write_bytes(b"third\n")
    again = LogTail("stdout", log)
    again.start_after(piece.cursor)
    assert read_all(again) == b"second\nthird\n"
    again.close()


def test_a_made_up_cursor_is_refused(log: Path) -> None:
    with pytest.raises(ConfigError, match="not a log cursor"):
        LogTail("stdout", log).start_after("stdout:x")


async def test_following_ends_when_the_run_is_over_and_everything_is_read(log: Path) -> None:
    log.write_bytes(b"one\n")
    over = iter([False, True, True])
    pieces = []

    async for piece in stream_logs("R", {"stdout": log}, 0, [], lambda: next(over), RunFeed()):
        pieces.append(piece.data)
        if len(pieces) == 1:
            with log.open("ab") as file:
                file.write(b"two\n")
    assert b"".join(pieces) == b"one\ntwo\n"
