"""Durable files: the old content or the new, nothing else; and waiting for descriptors."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from mosaic.errors import CorruptStoreError
from mosaic.files import (
    atomic_write,
    atomic_write_json,
    is_locked,
    is_readable,
    make_directory,
    read_bounded,
    read_json,
    tail_lines,
)


def test_the_file_is_private_and_complete(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    atomic_write_json(path, {"a": [1, 2]})
    assert read_json(path) == {"a": [1, 2]}
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, lambda path: path.symlink_to("/dev/null")])
def test_what_is_no_file_holds_up_no_reader(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "a.json")
    with pytest.raises(OSError):
        read_json(tmp_path / "a.json")


def test_a_failed_write_leaves_the_old_file_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    atomic_write(path, b"old")

    def full(fd: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        atomic_write(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [item.name for item in tmp_path.iterdir()] == ["a"]


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:3]))
    atomic_write(tmp_path / "a", b"0123456789")
    monkeypatch.undo()
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_nan_is_refused_rather_than_written_as_invalid_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        atomic_write_json(tmp_path / "a", {"x": float("nan")})
    assert not list(tmp_path.iterdir())


def test_tail_of_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert tail_lines(tmp_path / "no", 3) == []


def test_tail_survives_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\n\xff\xfe two\nthree")
    assert tail_lines(tmp_path / "log", 2) == ["\ufffd\ufffd two", "three"]


def test_a_folder_is_made_with_those_above_it_and_may_be_there_already(tmp_path: Path) -> None:
    for _ in range(2):
        make_directory(tmp_path / "a" / "b", mode=0o700)
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_folder_cannot_take_the_place_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FileExistsError):
        make_directory(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_directory(tmp_path / "file" / "folder")


def test_a_bounded_read_gives_the_whole_file_or_none(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"12345")
    assert read_bounded(tmp_path / "small", 5) == b"12345"
    assert read_bounded(tmp_path / "missing", 5) is None
    with pytest.raises(CorruptStoreError, match="small: it is larger than 4 bytes"):
        read_bounded(tmp_path / "small", 4)


@pytest.mark.parametrize("kind", ["folder", "fifo", "link", "loop"])
def test_what_is_no_plain_file_is_neither_read_nor_waited_for(tmp_path: Path, kind: str) -> None:
    path, target = tmp_path / "it", tmp_path / "target"
    target.write_text("a line")
    makers: dict[str, Callable[[], object]] = {
        "folder": path.mkdir,
        "fifo": lambda: os.mkfifo(path),
        "link": lambda: path.symlink_to(target),
        "loop": lambda: path.symlink_to(path),
    }
    makers[kind]()
    with pytest.raises(CorruptStoreError, match=r"^it: "):
        read_bounded(path, 100)
    assert tail_lines(path, 3) == []
    assert not is_locked(path)


def test_data_and_its_end_can_be_read() -> None:
    reader, writer = os.pipe()
    try:
        assert not is_readable(reader, 0)
        os.write(writer, b"x")
        assert is_readable(reader, 0)
        os.read(reader, 1)
        assert not is_readable(reader, -1)
        os.close(writer)
        assert is_readable(reader)
    finally:
        os.close(reader)


def test_high_descriptors_are_no_problem() -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] <= 2000:
        pytest.skip("this shell allows too few descriptors")
    reader, writer = os.pipe()
    high = fcntl.fcntl(reader, fcntl.F_DUPFD, 1500)
    try:
        os.write(writer, b"x")
        assert is_readable(high, 0)
    finally:
        for fd in (reader, writer, high):
            os.close(fd)
