"""What the encoder is told arrives, whole or not at all."""

from __future__ import annotations

import io

import pytest

from mosaic.frames.encoder import Begin, End, Frame, Message, boxed, packed, read_message
from tests.unit.frames.pictures import drawn, letters

MESSAGES: list[Message] = [
    Begin("/a folder/ü\udcff.mp4"),
    Frame(1.25, drawn("RGB", "WWW")),
    Frame(2.5, drawn("R")),
    End(),
]


def read_all(data: bytes) -> list[Message]:
    pipe = io.BytesIO(data)
    messages = []
    while (message := read_message(pipe)) is not None:
        messages.append(message)
    return messages


def test_messages_arrive() -> None:
    data = b"".join(part for message in MESSAGES for part in packed(message))
    assert read_all(data) == MESSAGES


@pytest.mark.parametrize("index", range(len(MESSAGES)))
def test_half_a_message_is_the_end(index: int) -> None:
    data = b"".join(part for message in MESSAGES[: index + 1] for part in packed(message))
    assert read_all(data[:-1]) == MESSAGES[:index]


def test_odd_sizes_get_a_black_edge() -> None:
    assert letters(boxed(drawn("RGB", "WWW", "BGR"), 4, 4)) == ["RGB.", "WWW.", "BGR.", "...."]


def test_the_right_size_is_left_alone() -> None:
    picture = drawn("RG", "BW")
    assert boxed(picture, 2, 2) is picture
