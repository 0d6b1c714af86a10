"""JSON from elsewhere: bounded in every direction."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.daemon.keeping.foreign_json import (
    MAX_DEPTH,
    parse_foreign_json,
    read_foreign_json,
)


@pytest.mark.parametrize(
    "value", [{}, [], None, 1, 1.5, "text", {"a": [1, {"b": "\u202e"}]}, [[]] * 1000]
)
def test_plain_values_are_read_as_they_are(value: object) -> None:
    assert parse_foreign_json(json.dumps(value).encode()) == value


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"NaN", "not a value"),
        (b"[-Infinity]", "not a value"),
        (b"[1e400]", "larger than any number"),
        (b"[" * 100_000, "nested"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested deeper"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "nested deeper"),
        (b'"\\ud800"', "text that is none"),
        (b'{"\\u0000": 1}', "text that is none"),
        (b'[["a", "b\\u0000"]]', "text that is none"),
        (b"[" + b"[]," * 600_000 + b"[]]", "more than 500,000 values"),
        (b'"' + b"x" * 5_000_000 + b'"', "more than 4,000,000 bytes"),
        (b"{", "Expecting"),
        (b"\xff", "codec"),
        (b"9" * 5000, "digits"),
    ],
)
def test_what_no_reader_should_meet_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_foreign_json(data)


def test_the_deepest_document_that_is_allowed_is_read() -> None:
    assert parse_foreign_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)


def test_a_file_is_never_read_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(10**12)  # a hole: reading all of it would never end
    with pytest.raises(ValueError, match="more than"):
        read_foreign_json(path)
