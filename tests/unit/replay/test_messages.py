"""What goes through the pipe of a simulator: values, arrays, torn messages and garbage."""

from __future__ import annotations

import contextlib
import enum
import io
import json
import math
import sys
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.replay.messages import (
    BrokenMessageError,
    Message,
    packed,
    packed_value,
    read_message,
    unpacked_value,
)


def test_messages_come_out_as_they_went_in() -> None:
    sent = [Message("seek", {"step": 3}), Message("moment", {"x": None}, [b"ab", b"", b"c" * 70])]
    stream = io.BytesIO(b"".join(part for message in sent for part in packed(message)))
    assert [read_message(stream.read), read_message(stream.read)] == [
        Message("seek", {"step": 3}, []),
        sent[1],
    ]
    assert read_message(stream.read) is None


def test_a_torn_message_is_refused_wherever_it_was_cut() -> None:
    whole = b"".join(packed(Message("moment", {"reward": 1.5}, [b"pixels"])))
    for length in range(1, len(whole)):
        with pytest.raises(BrokenMessageError):
            read_message(io.BytesIO(whole[:length]).read)


@given(st.binary(min_size=1, max_size=200))
def test_garbage_is_no_message(data: bytes) -> None:
    with pytest.raises(BrokenMessageError):
        read_message(io.BytesIO(data).read)


@given(st.binary(min_size=1, max_size=60), st.integers(0, 40))
def test_a_damaged_message_never_asks_for_more_than_there_can_be(noise: bytes, at: int) -> None:
    whole = bytearray(b"".join(packed(Message("moment", {"reward": 1.5}, [b"pixels" * 9]))))
    whole[at : at + len(noise)] = noise
    asked: list[int] = []
    stream = io.BytesIO(bytes(whole))

    def read(size: int) -> bytes:
        asked.append(size)
        return stream.read(size)

    with contextlib.suppress(BrokenMessageError):
        read_message(read)
    assert max(asked) <= 2**30


@pytest.mark.parametrize("text", [b"[]", b"{}", b'["a", {}, [-1]]', b'["a", {}, [1e3]]', b"[[[["])
def test_a_text_of_another_form_is_refused(text: bytes) -> None:
    head = packed(Message("a", {}))[0][:4] + len(text).to_bytes(4, "big") + bytes(4)
    with pytest.raises(BrokenMessageError):
        read_message(io.BytesIO(head + text + bytes(2000)).read)


class Move(enum.IntEnum):
    LEFT = 2


def sent(value: Any) -> Any:
    parts: list[bytes] = []
    text = json.dumps(packed_value(value, parts))
    return unpacked_value(json.loads(text), parts)


@pytest.mark.parametrize(
    "value", [None, True, 3, -2.5, "text", [1, [2]], (1, (2, "x")), {"a": 1, 5: (2,)}, [], {}, ()]
)
def test_plain_values_come_back_with_their_types(value: Any) -> None:
    back = sent(value)
    assert back == value and type(back) is type(value)


def test_no_number_is_lost() -> None:
    assert math.isnan(sent(math.nan)) and sent(-math.inf) == -math.inf
    assert sent(2**70) == 2**70


def test_arrays_come_back_bit_by_bit_with_dtype_and_shape() -> None:
    for array in (
        numpy.arange(6, dtype=numpy.float32).reshape(2, 3) / 7,
        numpy.zeros((0, 4), numpy.uint8),
        numpy.arange(10, dtype=numpy.int64)[::3],
        numpy.array([True, False]),
    ):
        back = sent({"image": (array,)})["image"][0]
        assert back.dtype == array.dtype and back.shape == array.shape
        assert back.tobytes() == array.tobytes()
    scalar = sent(numpy.float32(0.1))
    assert type(scalar) is numpy.float32 and scalar == numpy.float32(0.1)
    assert type(sent(numpy.float64(0.1))) is numpy.float64


def test_what_has_no_bytes_is_described() -> None:
    assert sent(Move.LEFT) == 2
    assert sent(numpy.str_("mission")) == "mission"
    assert "object" in sent(object())
    assert "None" in sent(numpy.array([None]))


def test_without_numpy_arrays_are_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    parts: list[bytes] = []
    matrix = numpy.array([[1, 2], [3, 4]], numpy.float32)
    values = [matrix, numpy.int8(-3), numpy.zeros((0, 2)), numpy.bool_(1)]
    packed = packed_value(values, parts)
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert unpacked_value(packed, parts) == [[[1, 2], [3, 4]], -3, [], True]


@pytest.mark.parametrize(
    "packed", [{"array": ["<f4", [9], 0]}, {"array": ["<f4", [1], 7]}, {"odd": 1}, {"array": 3}, {}]
)
def test_a_damaged_value_is_refused(packed: Any) -> None:
    with pytest.raises(BrokenMessageError):
        unpacked_value(packed, [b"1234"])
