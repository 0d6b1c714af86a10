"""What a training and its environment processes exchange: messages, and shared memory.

A message is JSON with its arrays behind it. Recordings keep the states of environments in the
same form.
"""

from __future__ import annotations

import json
import mmap
import os
import select
import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cleanrl_worker.environments.batch import Array

_LENGTHS = struct.Struct("=QQ")  # of the JSON text, of the arrays
_ARRAY = "__array__"
# All a step needs to say, as everything else about it lies in shared memory.
EMPTY = _LENGTHS.pack(0, 0)
_ALIGNMENT = 64  # a cache line each, so that processes do not slow each other down


class SpinWait:
    """Looks for a message again and again, for a while, before anybody sleeps until it comes.

    Waking a process takes longer than a training pauses between two steps. Whoever else is ready
    to run on this core goes first.
    """

    def __init__(self, channel: socket.socket, seconds: float) -> None:
        self._seconds = seconds
        self._poll = select.poll()
        self._poll.register(channel, select.POLLIN)

    def wait(self) -> None:
        """Returns when there is a message or the time is over."""
        if not self._seconds:
            return
        poll, now, give_way = self._poll.poll, time.perf_counter, os.sched_yield
        deadline = now() + self._seconds
        while not poll(0) and now() < deadline:
            give_way()


def pack(message: Any) -> bytes:
    arrays: list[bytes] = []
    text = json.dumps(_without_arrays(message, arrays)).encode()
    blob = b"".join(arrays)
    return _LENGTHS.pack(len(text), len(blob)) + text + blob


def unpack(data: bytes) -> Any:
    """Raises ValueError when `pack` did not make it."""
    try:
        text_length, blob_length = _LENGTHS.unpack_from(data)
        text_end = _LENGTHS.size + text_length
        if text_end + blob_length != len(data):
            raise ValueError("its lengths are wrong")
        return _with_arrays(json.loads(data[_LENGTHS.size : text_end]), memoryview(data)[text_end:])
    except (struct.error, TypeError, SyntaxError, OverflowError, RecursionError) as error:
        raise ValueError(str(error)) from error


def send(channel: socket.socket, message: Any) -> None:
    channel.sendall(pack(message))


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


class SharedArrays:
    """What a step of all environments takes and gives, in memory that processes share.

    The memory has no name: it is gone with the last process that has it, however that one ended.
    """

    actions: Array
    observations: Array
    finals: Array
    rewards: Array
    terminated: Array
    truncated: Array

    def __init__(self, descriptor: int, num_envs: int, observations: Any, actions: Any) -> None:
        """`observations` and `actions` are (shape, dtype) of one environment."""
        layout = {
            "actions": actions,
            "observations": observations,
            "finals": observations,
            "rewards": ((), np.float32),
            "terminated": ((), np.bool_),
            "truncated": ((), np.bool_),
        }
        offsets: dict[str, int] = {}
        size = 0
        for name, (shape, dtype) in layout.items():
            offsets[name] = size
            length = int(np.prod((num_envs, *shape))) * np.dtype(dtype).itemsize
            size += -(-length // _ALIGNMENT) * _ALIGNMENT
        if os.fstat(descriptor).st_size < size:
            os.ftruncate(descriptor, size)
        memory = mmap.mmap(descriptor, size)
        for name, (shape, dtype) in layout.items():
            array: Array = np.ndarray((num_envs, *shape), dtype, memory, offsets[name])
            setattr(self, name, array)
