"""Logs stay bounded, keep lines whole and survive a disk without room."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mosaic.runhost.logs import RotatingLog, split_at_limit


def test_data_that_fits_is_not_cut() -> None:
    assert split_at_limit(0, b"a\nb\n", 4) == (b"a\nb\n", b"")


def test_cut_is_after_the_last_line_that_fits() -> None:
    assert split_at_limit(2, b"a\nb\nc\n", 7) == (b"a\nb\n", b"c\n")


def test_line_that_does_not_fit_goes_to_the_next_file() -> None:
    assert split_at_limit(5, b"long line", 10) == (b"", b"long line")
    assert split_at_limit(99, b"x\n", 10) == (b"", b"x\n")


def test_line_larger_than_a_file_is_cut_in_pieces() -> None:
    assert split_at_limit(0, b"0123456789abc", 10) == (b"0123456789", b"abc")


def test_files_rotate_and_the_oldest_goes(tmp_path: Path) -> None:
    log = RotatingLog(tmp_path / "logs" / "w.log", max_bytes=20, backups=2)
    for number in range(100):
        log.write(b"line %03d\n" % number)
    log.close()
    files = sorted((tmp_path / "logs").iterdir())
    assert [file.name for file in files] == ["w.log", "w.log.1", "w.log.2"]
    assert all(file.stat().st_size <= 20 for file in files)
    text = b"".join(file.read_bytes() for file in reversed(files))
    assert text == b"".join(b"line %03d\n" % number for number in range(94, 100))


def test_without_backups_the_one_file_starts_again(tmp_path: Path) -> None:
    log = RotatingLog(tmp_path / "w.log", max_bytes=10, backups=0)
    log.write(b"12345678\nabc\n")
    log.close()
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("w.log", b"abc\n")]


def test_second_attempt_appends_and_counts_what_is_there(tmp_path: Path) -> None:
    for text in (b"12345\n", b"67890\n"):
        log = RotatingLog(tmp_path / "w.log", max_bytes=10, backups=1)
        log.write(text)
        log.close()
    assert (tmp_path / "w.log").read_bytes() == b"67890\n"
    assert (tmp_path / "w.log.1").read_bytes() == b"12345\n"


def test_full_disk_drops_counts_and_notes_it_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_write = os.write
    room = 5

    def write(fd: int, data: bytes) -> int:
        nonlocal room
        if room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = real_write(fd, data[:room])
        room -= written
        return written

    monkeypatch.setattr(os, "write", write)
    log = RotatingLog(tmp_path / "w.log", max_bytes=1000, backups=1)
    log.write(b"first\nsecond\n")
    log.write(b"third\n")
    assert log.lost_bytes == 14
    room = 1000
    log.write(b"fourth\n")
    log.close()
    note = b"\n[run host] 14 bytes were lost here: no room on the disk\n"
    assert (tmp_path / "w.log").read_bytes() == b"first" + note + b"fourth\n"


def test_log_that_cannot_be_opened_is_only_counted(tmp_path: Path) -> None:
    (tmp_path / "logs").write_bytes(b"a file where the folder should be")
    log = RotatingLog(tmp_path / "logs" / "w.log", max_bytes=10, backups=1)
    log.write(b"lost")
    log.close()
    assert log.lost_bytes == 4
