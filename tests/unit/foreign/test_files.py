"""Files and JSON from elsewhere: plain files only, and bounded in every direction."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mosaic.foreign.files import (
    DEEPEST,
    open_regular,
    parse_json,
    parse_plain_json,
    parse_shallow_json,
    read_plain_json,
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


GRADES = [parse_json, parse_shallow_json, parse_plain_json]


@pytest.mark.parametrize("parse", GRADES)
@pytest.mark.parametrize(
    "value",
    [{}, [], None, 1, 1.5, True, -(2**63), 2**63 - 1, {"a": [1, {"b": "\u202e"}]}, [[]] * 1000],
)
def test_plain_values_are_read_as_they_are(parse: Callable[[str], Any], value: object) -> None:
    assert parse(json.dumps(value)) == value


@pytest.mark.parametrize("parse", GRADES)
@pytest.mark.parametrize("text", ["[" * 100_000, "{", "", b"\xff\xfe\x00", "9" * 5000])
def test_what_is_no_json_is_a_value_error(
    parse: Callable[[str | bytes], Any], text: str | bytes
) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize("opening", [("[", "]"), ('{"a":', "}")])
def test_how_deep_a_value_may_be(opening: tuple[str, str]) -> None:
    def nested(levels: int) -> str:
        return opening[0] * levels + "1" + opening[1] * levels

    for parse in (parse_shallow_json, parse_plain_json):
        parse(nested(DEEPEST))
        with pytest.raises(ValueError, match="levels deep"):
            parse(nested(DEEPEST + 1))
    parse_json(nested(DEEPEST + 1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NaN", "no number"),
        ("[-Infinity]", "no number"),
        ("[1e400]", "too large"),
        ("1" * 30, "too large"),
        ('"\\ud800"', "text with a NUL or with half a character"),
        ('{"\\u0000": 1}', "text with a NUL or with half a character"),
        ('[["a", "b\\u0000"]]', "text with a NUL or with half a character"),
        ("[" + "[]," * 600_000 + "[]]", "more than 500,000 values"),
    ],
)
def test_what_only_plain_json_refuses(text: str, words: str) -> None:
    parse_shallow_json(text)
    with pytest.raises(ValueError, match=words):
        parse_plain_json(text)


def test_a_file_is_never_read_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(10**12)  # a hole: reading all of it would never end
    with pytest.raises(OSError, match="larger than 4,000,000 bytes"):
        read_plain_json(path)


def test_a_pipe_is_no_document(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(OSError, match="not a regular file"):
        read_plain_json(tmp_path / "pipe.json")
