"""Actions and observations as JSON and bytes: any nesting of dicts, lists, tuples and arrays.

Where numpy is not installed arrays arrive as nested lists: enough to show them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from mosaic.replay.messages import BrokenMessageError

_LONGEST_TEXT = 1000
# Kinds of numpy's dtypes that are plain numbers, with the formats memoryview has for their sizes.
_FORMATS = {
    "b": {1: "?"},
    "i": {1: "b", 2: "h", 4: "i", 8: "q"},
    "u": {1: "B", 2: "H", 4: "I", 8: "Q"},
    "f": {4: "f", 8: "d"},
}


def packed_value(value: Any, parts: list[bytes]) -> Any:
    """JSON that stands for the value; the bytes of its arrays are appended to `parts`."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, dict):
        pairs = [
            [packed_value(key, parts), packed_value(item, parts)] for key, item in value.items()
        ]
        return {"dict": pairs}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [packed_value(item, parts) for item in value]}
    numpy: Any = sys.modules.get("numpy")  # whoever has an array has imported it
    if numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic)):
        array = numpy.asarray(value)
        if array.dtype.kind in _FORMATS:
            parts.append(array.tobytes())
            return {"array": [array.dtype.str, list(array.shape), len(parts) - 1]}
    for plain in (int, float, str):
        if isinstance(value, plain):
            return plain(value)  # an enum, for example
    return {"text": repr(value)[:_LONGEST_TEXT]}


def unpacked_value(packed: Any, parts: Sequence[bytes]) -> Any:
    try:
        return _unpacked(packed, parts)
    except (ValueError, TypeError, KeyError, IndexError, RecursionError) as error:
        raise BrokenMessageError(f"a value in it cannot be read: {error}") from error


def _unpacked(packed: Any, parts: Sequence[bytes]) -> Any:
    if not isinstance(packed, dict):
        return packed
    ((kind, content),) = packed.items()
    if kind == "dict":
        return {_unpacked(key, parts): _unpacked(item, parts) for key, item in content}
    if kind == "list":
        return [_unpacked(item, parts) for item in content]
    if kind == "tuple":
        return tuple(_unpacked(item, parts) for item in content)
    if kind == "text":
        return str(content)
    if kind != "array":
        raise ValueError(f"{kind!r} is no kind of value")
    dtype, shape, place = content
    return array_from(str(dtype), tuple(shape), parts[place])


def array_from(dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
    """An array of numpy (a scalar where the shape is empty), else nested lists."""
    try:
        import numpy
    except ImportError:
        return _nested_lists(dtype, shape, data)
    return numpy.frombuffer(data, numpy.dtype(dtype)).reshape(shape)[()]


def _nested_lists(dtype: str, shape: tuple[int, ...], data: bytes) -> Any:
    kind, size = dtype.lstrip("<|=")[0], int(dtype.lstrip("<|=")[1:])
    numbers = memoryview(data).cast(_FORMATS[kind][size])  # type: ignore[call-overload]
    if not shape:
        return numbers[0]
    if 0 in shape:
        return []
    return numbers.cast("B").cast(numbers.format, shape).tolist()
