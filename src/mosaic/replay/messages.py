"""What goes through the pipes between a simulation and its simulator: some values, some bytes.

A message is a head, a JSON object and the parts: blocks of bytes that are too large for JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from struct import Struct
from typing import Any, NamedTuple

_HEAD = Struct(">4sII")
_MARK = b"MoRp"
_MAX_TEXT_BYTES = 64 * 2**20
_MAX_PART_BYTES = 2**30


class Message(NamedTuple):
    kind: str
    values: dict[str, Any]
    parts: Sequence[bytes] = ()


class BrokenMessageError(ValueError):
    """What came is no message, or only the beginning of one."""


def packed(message: Message) -> list[bytes]:
    """To be written one after the other: large parts are not copied."""
    sizes = [len(part) for part in message.parts]
    text = json.dumps([message.kind, message.values, sizes]).encode()
    head = _HEAD.pack(_MARK, len(text), sum(sizes) & 0xFFFFFFFF)
    return [head + text, *message.parts]


def read_message(read: Callable[[int], bytes]) -> Message | None:
    """`read` gives exactly so many bytes, fewer only at the end. None: there is nothing more."""
    head = read(_HEAD.size)
    if not head:
        return None
    if len(head) < _HEAD.size:
        raise BrokenMessageError("it ends within the head of a message")
    mark, text_size, check = _HEAD.unpack(head)
    if mark != _MARK or text_size > _MAX_TEXT_BYTES:
        raise BrokenMessageError("it is no message of ours")
    kind, values, sizes = _parsed(_exactly(read, text_size))
    if sum(sizes) & 0xFFFFFFFF != check:
        raise BrokenMessageError("the sizes of its parts do not add up")
    return Message(kind, values, [_exactly(read, size) for size in sizes])


def _parsed(text: bytes) -> tuple[str, dict[str, Any], list[int]]:
    try:
        kind, values, sizes = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise BrokenMessageError("its text is not what was agreed") from error
    is_sound = isinstance(kind, str) and isinstance(values, dict) and isinstance(sizes, list)
    if not is_sound or not all(type(n) is int and 0 <= n <= _MAX_PART_BYTES for n in sizes):
        raise BrokenMessageError("its text is not what was agreed")
    return kind, values, sizes


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    data = read(size) if size else b""
    if len(data) < size:
        raise BrokenMessageError("it ends within a message")
    return data
