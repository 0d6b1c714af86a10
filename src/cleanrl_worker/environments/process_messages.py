"""Messages between a training and its environment processes: JSON with the arrays behind it."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from struct import Struct
from typing import Any

import numpy as np

_LENGTHS = Struct("=QQ")  # of the JSON text, of the arrays
_ARRAY = "__array__"
# All a step needs to say, as everything else about it lies in shared memory.
EMPTY = _LENGTHS.pack(0, 0)


def send(channel: socket.socket, message: Any) -> None:
    arrays: list[bytes] = []
    text = json.dumps(_without_arrays(message, arrays)).encode()
    blob = b"".join(arrays)
    channel.sendall(_LENGTHS.pack(len(text), len(blob)) + text + blob)


def receive(channel: socket.socket) -> Any:
    """None for an empty message. Raises EOFError when the other side is gone."""
    text_length, blob_length = _LENGTHS.unpack(_read(channel, _LENGTHS.size))
    if text_length == 0:
        return None
    text = _read(channel, text_length)
    return _with_arrays(json.loads(text), memoryview(_read(channel, blob_length)))


def _read(channel: socket.socket, length: int) -> bytes:
    parts: list[bytes] = []
    while length:
        try:
            part = channel.recv(min(length, 2**20))
        except ConnectionError:
            part = b""
        if not part:
            raise EOFError
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _without_arrays(value: Any, arrays: list[bytes]) -> Any:
    if isinstance(value, np.ndarray):
        offset = sum(map(len, arrays))
        arrays.append(value.tobytes())
        return {_ARRAY: [value.dtype.str, list(value.shape), offset]}
    if isinstance(value, Mapping):
        return {name: _without_arrays(item, arrays) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without_arrays(item, arrays) for item in value]
    return value


def _with_arrays(value: Any, blob: memoryview) -> Any:
    if isinstance(value, list):
        return [_with_arrays(item, blob) for item in value]
    if not isinstance(value, dict):
        return value
    if _ARRAY in value:
        dtype, shape, offset = value[_ARRAY]
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(blob, dtype, count, offset).reshape(shape).copy()
    return {name: _with_arrays(item, blob) for name, item in value.items()}
