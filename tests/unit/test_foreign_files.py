from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from mosaic.foreign.files import (
    open_regular,
    read_regular,
    unpack,
    unpack_beginning,
)


def test_a_plain_file_is_read_up_to_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_regular(path, 5) == b"12345"
    with pytest.raises(OSError, match="larger than 4 bytes"):
        read_regular(path, 4)
    with pytest.raises(FileNotFoundError):
        read_regular(tmp_path / "none", 4)


def test_what_is_no_plain_file_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    for name in ("pipe", "device", "."):
        with pytest.raises(OSError, match="not a regular file"):
            open_regular(tmp_path / name)


def test_links_are_followed_only_where_that_is_meant(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "link", 1) == b"x"
    with pytest.raises(OSError, match="symbolic links"):
        open_regular(tmp_path / "link", follow_links=False)


def test_no_descriptor_is_left_open_by_a_refusal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with pytest.raises(OSError, match="regular"):
            open_regular(tmp_path / "pipe")
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("length", [0, 1, 70_000])
def test_packed_bytes_come_back_when_they_fit(length: int) -> None:
    text = os.urandom(length)
    packed = zlib.compress(text)
    assert unpack(packed, length) == text
    assert unpack_beginning(packed, length // 2) == text[: length // 2]
    if length:
        with pytest.raises(ValueError, match="more than"):
            unpack(packed, length - 1)
        with pytest.raises(ValueError, match="cut off"):
            unpack(packed[:-1], length)


@pytest.mark.parametrize("unpacker", [unpack, unpack_beginning])
def test_what_is_not_packed_cannot_be_unpacked(unpacker: Callable[[bytes, int], bytes]) -> None:
    with pytest.raises(ValueError, match="cannot be unpacked"):
        unpacker(b"garbage", 10)
