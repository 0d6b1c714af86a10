"""JSON from elsewhere: bounded in every direction."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mosaic.foreign.files import (
    DEEPEST,
    parse_json,
    parse_plain_json,
    parse_shallow_json,
    read_plain_json,
)

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
