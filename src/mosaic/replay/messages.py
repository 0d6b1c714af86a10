"""What goes through the pipes between a simulation and its simulator: some values, some bytes.

A message is a head, a JSON object and the parts: blocks of bytes that are too large for JSON.
"""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict
from struct import Struct
from typing import Any, NamedTuple

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording

_HEAD = Struct(">4sII")
_MARK = b"MoRp"
_MAX_TEXT_BYTES = 64 * 2**20
_MAX_PART_BYTES = 2**30


class Message(NamedTuple):
    kind: str
    values: dict[str, Any]
    parts: Sequence[bytes] = ()


class BrokenMessageError(ValueError):
    """What came is not a message, or only the beginning of one."""


def packed(message: Message) -> list[bytes]:
    """To be written one after the other: large parts are not copied."""
    sizes = [len(part) for part in message.parts]
    text = json.dumps([message.kind, message.values, sizes]).encode()
    head = _HEAD.pack(_MARK, len(text), sum(sizes) & 0xFFFFFFFF)
    return [head + text, *message.parts]


def read_message(read: Callable[[int], bytes]) -> Message | None:
    """`read` gives exactly this many bytes, fewer only at the end. None: there is nothing more."""
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


# -- Actions and observations: any nesting of dicts, lists, tuples and arrays
#
# Where numpy is not installed arrays arrive as nested lists: enough to show them.

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


# -- A recording, for the simulator's standard input

RECORDING = "recording"
# What was asked before, and what the agent expected, is nothing to the simulator.
_LEFT_OUT = ("episode", "consent", "values")
_IN_PARTS = ("start_state", "actions", "actions_json", "rewards")


def recording_to_message(recording: EpisodeRecording) -> Message:
    values = {
        name: value
        for name, value in vars(recording).items()
        if name not in (*_IN_PARTS, *_LEFT_OUT)
    }
    values["episode"] = asdict(recording.episode)
    parts = (
        recording.start_state,
        recording.actions,
        json.dumps(recording.actions_json).encode(),
        array("d", recording.rewards).tobytes(),
    )
    return Message(RECORDING, values, parts)


def recording_from_message(message: Message) -> EpisodeRecording:
    try:
        start_state, actions, actions_json, rewards = message.parts
        values: dict[str, Any] = dict(message.values)
        values["episode"] = EpisodeSummary(**values["episode"])
        for name in ("action_shape", "clips", "path"):
            values[name] = tuple(values[name])
        return EpisodeRecording(
            **values,
            start_state=start_state,
            actions=actions,
            actions_json=tuple(json.loads(actions_json)),
            rewards=tuple(array("d", rewards)),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise BrokenMessageError(f"it is no recording: {error}") from error
