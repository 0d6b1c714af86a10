"""Reads a TensorProto that holds one number, as newer writers put scalars."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mosaic.analytics import protobuf_wire as wire

_DTYPE, _SHAPE, _CONTENT, _HALF_VALUES = 1, 2, 4, 13
_STRING = 7
_BFLOAT16 = 14
# Width and struct code of an element of `tensor_content`, by data type.
_ELEMENTS = {
    1: (4, "<f"),
    2: (8, "<d"),
    3: (4, "<i"),
    4: (1, "<B"),
    5: (2, "<h"),
    6: (1, "<b"),
    9: (8, "<q"),
    10: (1, "<?"),
    17: (2, "<H"),
    19: (2, "<e"),
    22: (4, "<I"),
    23: (8, "<Q"),
}
# The repeated fields that hold elements one by one; packed or not is the writer's choice.
_FIXED_VALUES = {5: (4, "<f"), 6: (8, "<d")}
_VARINT_VALUES: dict[int, Callable[[int], int]] = {
    7: wire.signed,
    10: wire.signed,
    11: int,
    16: int,
    17: int,
}


@dataclass(frozen=True)
class TensorScalar:
    """`kind` is SCALAR when `value` holds, else what the tensor is instead."""

    SCALAR: ClassVar[str] = "scalar"
    kind: str
    value: float = math.nan


def parse_tensor(message: bytes) -> TensorScalar:
    dtype, elements = 0, 1
    raw = b""
    numbers: list[float] = []
    for number, _, value in wire.fields(message):
        if number == _DTYPE:
            dtype = wire.as_int(value)
        elif number == _SHAPE:
            elements = _element_count(wire.as_bytes(value))
        elif number == _CONTENT:
            raw = wire.as_bytes(value)
        elif number in _FIXED_VALUES and not numbers:
            width, layout = _FIXED_VALUES[number]
            numbers.append(wire.first_number(layout, width, wire.as_bytes(value)))
        elif (number in _VARINT_VALUES or number == _HALF_VALUES) and not numbers:
            bits = wire.read_varint(value, 0)[0] if isinstance(value, bytes) else value
            decode = _VARINT_VALUES.get(number)
            numbers.append(float(decode(bits)) if decode else _from_half(bits, dtype))
    if dtype == _STRING:
        return TensorScalar("text")
    if elements != 1 or not (numbers or raw):
        return TensorScalar("tensor")
    if numbers:
        return TensorScalar(TensorScalar.SCALAR, numbers[0])
    return _from_content(raw, dtype)


def _from_content(raw: bytes, dtype: int) -> TensorScalar:
    if dtype == _BFLOAT16 and len(raw) == 2:
        return TensorScalar(TensorScalar.SCALAR, wire.first_number("<f", 4, b"\0\0" + raw))
    width, layout = _ELEMENTS.get(dtype, (0, ""))
    if not width or len(raw) != width:
        return TensorScalar("tensor")
    return TensorScalar(TensorScalar.SCALAR, wire.first_number(layout, width, raw))


def _from_half(bits: int, dtype: int) -> float:
    raw = (bits & 0xFFFF).to_bytes(2, "little")
    return _from_content(raw, dtype).value


def _element_count(shape: bytes) -> int:
    count = 1
    for number, _, value in wire.fields(shape):
        if number == 2:
            size = 0
            for inner, _, dimension in wire.fields(wire.as_bytes(value)):
                if inner == 1:
                    size = wire.as_int(dimension)
            # Capped, so that a hostile shape cannot make us multiply for ever.
            count = min(count * size, 2)
    return count
