"""What is said over the bridge is believed only as far as it is valid."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.watch.messages import (
    MAX_LINE_BYTES,
    MAX_TEXT,
    Episode,
    Episodes,
    Folder,
    Metric,
    Note,
    Progress,
    Vectors,
    parse_message,
)


def parsed(**message: Any) -> Any:
    return parse_message(json.dumps(message).encode())


@pytest.mark.parametrize(
    ("message", "meaning"),
    [
        ({"kind": "metric", "name": "a", "value": 1, "step": 7}, Metric("a", 1.0, 7)),
        ({"kind": "metric", "name": "a", "value": 0.5, "step": None}, Metric("a", 0.5, None)),
        ({"kind": "metric", "name": "a", "value": "-Infinity"}, Metric("a", -math.inf)),
        ({"kind": "episode", "return": 3, "length": 9, "env": 2, "pid": 1}, Episode(3.0, 9, 2)),
        ({"kind": "episode", "return": 3, "truncated": True}, Episode(3.0, is_truncated=True)),
        (
            {"kind": "episodes", "count": 4, "mean_return": 2, "mean_length": 5, "last_return": 1},
            Episodes(4, 2.0, 5.0, 1.0),
        ),
        ({"kind": "progress", "steps": 100, "pid": 3}, Progress(100, 3)),
        ({"kind": "note", "text": " hm "}, Note("hm")),
        ({"kind": "tensorboard", "path": "/runs/a"}, Folder("tensorboard", "/runs/a")),
        ({"kind": "wandb", "path": "/wandb"}, Folder("wandb", "/wandb")),
        ({"kind": "vectors", "gymnasium": "1.4.0"}, Vectors("1.4.0")),
    ],
)
def test_messages_are_understood(message: dict[str, Any], meaning: object) -> None:
    assert parsed(**message) == meaning


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"hello",
        b"[]",
        b"7",
        b"null",
        b'{"kind": []}',
        b'{"kind": "metric"}',
        b'{"kind": "metric", "name": "", "value": 1}',
        b'{"kind": "metric", "name": 5, "value": 1}',
        b'{"kind": "metric", "name": "a", "value": true}',
        b'{"kind": "metric", "name": "a", "value": "high"}',
        b'{"kind": "metric", "name": "a", "value": 1, "step": -1}',
        b'{"kind": "metric", "name": "a", "value": 1, "step": 1e300}',
        b'{"kind": "metric", "name": "a", "value": 1, "step": NaN}',
        b'{"kind": "metric", "name": "a", "value": 1' + b"0" * 400 + b"}",
        b'{"kind": "metric", "name": "a", "value": 1' + b"0" * 5000 + b"}",
        b'{"kind": "metric", "name": "' + b"a" * 257 + b'", "value": 1}',
        b'{"kind": "episodes", "count": 0, "mean_return": 1}',
        b'{"kind": "tensorboard", "path": "/a\\u0000b"}',
        b'{"kind": "explode"}',
        b"[" * 60_000,
        b"\xff\xfe\x00",
    ],
)
def test_anything_else_is_no_message(line: bytes) -> None:
    assert parse_message(line) is None


def test_a_line_too_long_is_not_even_looked_at() -> None:
    filler = "x" * MAX_LINE_BYTES
    assert parsed(kind="progress", steps=1, more=filler) is None
    note = parsed(kind="note", text=filler[: MAX_TEXT + 1])
    assert len(note.text) == MAX_TEXT


@given(st.binary(max_size=200))
def test_bytes_never_raise(line: bytes) -> None:
    parse_message(line)


_json = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@given(
    st.sampled_from(["metric", "episode", "episodes", "progress", "note", "tensorboard"]),
    st.dictionaries(
        st.sampled_from(
            ["name", "value", "step", "return", "length", "env", "count", "steps", "text", "path"]
        ),
        _json,
    ),
)
def test_strange_fields_never_raise(kind: str, fields: dict[str, Any]) -> None:
    parse_message(json.dumps({**fields, "kind": kind}).encode())
