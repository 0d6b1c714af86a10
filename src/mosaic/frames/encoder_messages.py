"""What goes through the pipe to the encoder: files to begin and end, and frames with their time."""

from __future__ import annotations

from struct import Struct
from typing import BinaryIO, NamedTuple

from mosaic.fastlane.layout import CHANNELS
from mosaic.fastlane.tiling import Picture

_HEAD = Struct("<cIId")
_BEGIN, _FRAME, _END = b"B", b"F", b"E"


class Begin(NamedTuple):
    path: str


class Frame(NamedTuple):
    at_s: float  # on any clock that only goes forward
    picture: Picture


class End(NamedTuple):
    pass


Message = Begin | Frame | End


def packed(message: Message) -> list[bytes]:
    """Parts to write one after the other: pixels are not copied."""
    if isinstance(message, Begin):
        path = message.path.encode("utf-8", "surrogateescape")
        return [_HEAD.pack(_BEGIN, len(path), 0, 0.0), path]
    if isinstance(message, Frame):
        picture = message.picture
        head = _HEAD.pack(_FRAME, picture.width, picture.height, message.at_s)
        return [head, picture.pixels]
    return [_HEAD.pack(_END, 0, 0, 0.0)]


def read_message(pipe: BinaryIO) -> Message | None:
    """None at the end, also where the writer died in the middle of something."""
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, width, height, at_s = _HEAD.unpack(head)
    if kind == _END:
        return End()
    size = width if kind == _BEGIN else width * height * CHANNELS
    data = pipe.read(size)
    if len(data) < size:
        return None
    if kind == _BEGIN:
        return Begin(data.decode("utf-8", "surrogateescape"))
    return Frame(at_s, Picture(width, height, data))
