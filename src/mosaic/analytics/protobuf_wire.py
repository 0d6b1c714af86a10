"""The protobuf wire format, as far as a reader of a few known fields needs it."""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack, unpack_from

VARINT = 0
FIXED64 = 1
BYTES = 2
FIXED32 = 5
MAX_VARINT_BYTES = 10
_UINT64 = (1 << 64) - 1

Field = tuple[int, int, int | bytes]


class WireError(ValueError):
    """These bytes are no protobuf message."""


def fields(message: bytes) -> Iterator[Field]:
    """Number, wire type and raw value of each field: an unsigned number, or bytes."""
    position = 0
    end = len(message)
    while position < end:
        key, position = read_varint(message, position)
        kind = key & 7
        if kind == VARINT:
            number, position = read_varint(message, position)
            yield key >> 3, kind, number
            continue
        if kind == BYTES:
            size, position = read_varint(message, position)
        elif kind == FIXED32:
            size = 4
        elif kind == FIXED64:
            size = 8
        else:
            raise WireError(f"unknown wire type {kind}")
        if size > end - position:
            raise WireError("a field is longer than its message")
        yield key >> 3, kind, message[position : position + size]
        position += size


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """The unsigned number at `position`, and where the next byte lies."""
    number = 0
    for shift, byte in enumerate(data[position : position + MAX_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return number & _UINT64, position + shift + 1
    raise WireError("a number has no end")


def varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def signed(number: int) -> int:
    """An int32 or int64, which is sent as the 64 bits of its two's complement."""
    return number - (1 << 64) if number >> 63 else number


def zigzag(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def as_int(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise WireError("bytes where a number belongs")
    return signed(value)


def as_bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise WireError("a number where bytes belong")
    return value


def as_text(value: int | bytes) -> str:
    return as_bytes(value).decode("utf-8", "replace")


def as_double(value: int | bytes) -> float:
    return _one("<d", 8, value)


def as_float(value: int | bytes) -> float:
    return _one("<f", 4, value)


def _one(layout: str, size: int, value: int | bytes) -> float:
    data = as_bytes(value)
    if len(data) != size:
        raise WireError("a number of the wrong width")
    number: float = unpack(layout, data)[0]
    return number


def first_number(layout: str, size: int, data: bytes) -> float:
    """The first of many numbers that lie side by side."""
    if len(data) < size:
        raise WireError("a number is cut off")
    return float(unpack_from(layout, data)[0])
