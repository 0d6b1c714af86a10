"""What goes through the pipe of a simulator, also torn and as garbage."""

from __future__ import annotations

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.replay.messages import BrokenMessageError, Message, packed, read_message


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
