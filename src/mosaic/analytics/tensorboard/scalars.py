"""Finds the scalars in TensorBoard's Event messages, with the few fields of them that matter.

Field numbers are those of event.proto, summary.proto and tensor.proto, which are frozen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from struct import Struct
from typing import ClassVar

from mosaic.analytics import protobuf_wire as wire
from mosaic.analytics.media import Media
from mosaic.analytics.series import Series
from mosaic.analytics.tensorboard.media_values import (
    HISTOGRAM_PLUGIN,
    IMAGE_PLUGIN,
    histogram_tensor,
    histogram_value,
    picture_tensor,
    picture_value,
)
from mosaic.errors import StoreError

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
            # Capped, so that a hostile shape cannot make us multiply forever.
            count = min(count * size, 2)
    return count


_EVENT_WALL_TIME, _EVENT_STEP, _EVENT_FILE_VERSION, _EVENT_SUMMARY, _EVENT_SESSION = 1, 2, 3, 5, 7
_SKIPPED_EVENTS = {4: "graph", 6: "log message", 8: "run metadata", 9: "graph"}
_SESSION_STATUS, _SESSION_START = 1, 1
_VALUE_TAG, _VALUE_SIMPLE, _VALUE_TENSOR, _VALUE_METADATA = 1, 2, 8, 9
_SKIPPED_VALUES = {3: "histogram", 4: "image", 5: "histogram", 6: "audio"}
_LEGACY_PLUGINS = {4: IMAGE_PLUGIN, 5: HISTOGRAM_PLUGIN}
_SCALAR_PLUGIN = "scalars"
_MAX_SHAPES = 16_384
# How far a value's bytes begin before the end of its event: just their own width, where nothing
# follows. Writers that describe their tensors add a few more distances, not many.
_PLAIN = 4
_MAX_DISTANCES = 8
# A tensor of data type float32: its shape, which may be left out, and the head of its only value,
# among the typed values (packed or not) or as raw content.
_SCALAR_SHAPES = (b"", b"\x12\x00")
_VALUES = (b"\x2a\x04", b"\x2d", b"\x22\x04")
# Shorter ones cannot hold a wall time, a step of any size and a scalar.
_MIN_SHAPED_BYTES = 25
_DOUBLE = Struct("<d")
_FLOAT = Struct("<f")


@dataclass
class RunScalars:
    """What is new in one run. `skipped` counts anything but a scalar, by kind."""

    series: dict[str, Series] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    problems: list[StoreError] = field(default_factory=list)
    file_versions: set[str] = field(default_factory=set)
    # A file was replaced or cut: what was handed out of this run before is void.
    is_restarted: bool = False
    # A training resumed at this step: points handed out before, at it or beyond, are void.
    rewound_to: int | None = None

    def carry_over(self, curves: dict[str, Series]) -> None:
        """Bring curves put together from earlier news up to date."""
        if self.is_restarted:
            curves.clear()
        if self.rewound_to is not None:
            _rewind(curves, self.rewound_to)
        for tag, series in self.series.items():
            curves.setdefault(tag, Series()).extend(series)

    def rewind(self, step: int) -> None:
        """As TensorBoard does where a session starts: what it takes up again is not kept twice."""
        self.rewound_to = step if self.rewound_to is None else min(self.rewound_to, step)
        _rewind(self.series, step)

    def add(self, tag: str, step: int, wall_time: float, value: float) -> None:
        series = self.series.get(tag)
        if series is None:
            series = self.series[tag] = Series()
        series.append(step, wall_time, value)


class EventScalars:
    """Decodes the events of one run. Remembers of which plugin a tag is: only its first event says.

    Nearly every event of a training is one scalar whose bytes, wall time, step and value aside,
    are the same each time. Such a shape is learned once and then only compared. Plain scalars end
    with their value; behind that of a tensor there may be bytes that describe it, always the same.
    """

    def __init__(self, media: Media | None = None) -> None:
        self._plugins: dict[str, str] = {}
        self._media = media  # where histograms and pictures go, if anywhere
        # By how far the value lies from the end of the event.
        self._shapes: dict[int, dict[tuple[bytes, bytes], str]] = {_PLAIN: {}}
        self._shape_count = 0

    def decode(self, event: bytes, into: RunScalars) -> None:
        if len(event) >= _MIN_SHAPED_BYTES and event[0] == 0x09:
            step, position = _shaped_step(event)
            end = len(event)
            for distance, shapes in self._shapes.items():
                at = end - distance
                tag = shapes.get((event[position:at], event[at + 4 :]))
                if tag is not None:
                    (wall_time,) = _DOUBLE.unpack_from(event, 1)
                    (value,) = _FLOAT.unpack_from(event, at)
                    into.add(tag, step, wall_time, value)
                    return
        try:
            self._decode(event, into)
        except wire.WireError:
            into.skipped["malformed"] += 1

    def _decode(self, event: bytes, into: RunScalars) -> None:
        wall_time, step = 0.0, 0
        summaries = []
        is_start = False
        for number, _, value in wire.fields(event):
            if number == _EVENT_WALL_TIME:
                wall_time = wire.as_double(value)
            elif number == _EVENT_STEP:
                step = wire.as_int(value)
            elif number == _EVENT_FILE_VERSION:
                into.file_versions.add(wire.as_text(value))
            elif number == _EVENT_SUMMARY:
                summaries.append(wire.as_bytes(value))
            elif number == _EVENT_SESSION:
                is_start = is_start or _is_start(wire.as_bytes(value))
            elif number in _SKIPPED_EVENTS:
                into.skipped[_SKIPPED_EVENTS[number]] += 1
        if is_start:
            into.rewind(step)
            if self._media is not None:
                self._media.rewind(step)
        for summary in summaries:
            for number, _, value in wire.fields(summary):
                if number == 1:
                    self._decode_value(wire.as_bytes(value), step, wall_time, event, into)

    def _decode_value(
        self, message: bytes, step: int, wall_time: float, event: bytes, into: RunScalars
    ) -> None:
        tag, plugin = "", ""
        scalar = math.nan
        kind, content = "empty", b""
        for number, _, value in wire.fields(message):
            if number == _VALUE_TAG:
                tag = wire.as_text(value)
            elif number == _VALUE_SIMPLE:
                scalar, kind = wire.as_float(value), "simple"
            elif number == _VALUE_TENSOR:
                content = wire.as_bytes(value)
                tensor = parse_tensor(content)
                scalar, kind = tensor.value, tensor.kind
            elif number == _VALUE_METADATA:
                plugin = _plugin_name(wire.as_bytes(value))
            elif number in _SKIPPED_VALUES:
                kind, content = _SKIPPED_VALUES[number], wire.as_bytes(value)
                plugin = plugin or _LEGACY_PLUGINS.get(number, "")
        if self._media is not None and content and kind != TensorScalar.SCALAR:
            self._keep_media(tag, plugin or self._plugins.get(tag, ""), content, kind, step)
        # The first event of a tag says what it is, and for good.
        plugin = self._plugins.setdefault(tag, plugin) if plugin else self._plugins.get(tag, "")
        if kind == "simple":
            self._learn_shape(tag, event, b"\x15", b"")
            into.add(tag, step, wall_time, scalar)
        elif plugin not in ("", _SCALAR_PLUGIN):
            into.skipped[plugin.removesuffix("s")] += 1
        elif kind == TensorScalar.SCALAR:
            if plugin == _SCALAR_PLUGIN:  # for good: no later event can make it something else
                self._learn_tensor_shape(tag, message, event)
            into.add(tag, step, wall_time, scalar)
        else:
            into.skipped[kind] += 1

    def _keep_media(self, tag: str, plugin: str, content: bytes, kind: str, step: int) -> None:
        assert self._media is not None
        is_tensor = kind in ("tensor", "text")
        if plugin == HISTOGRAM_PLUGIN:
            read = histogram_tensor if is_tensor else histogram_value
            self._media.add_histogram(tag, read(content, step))
        elif plugin == IMAGE_PLUGIN:
            see = picture_tensor if is_tensor else picture_value
            self._media.add_picture(tag, see(content, step))

    def _learn_tensor_shape(self, tag: str, message: bytes, event: bytes) -> None:
        """Of a tensor of one float32, whichever of the two places its writer uses for the value."""
        parts = list(wire.fields(message))
        if [number for number, _, _ in parts[:2]] != [_VALUE_TAG, _VALUE_TENSOR]:
            return
        tensor = wire.as_bytes(parts[1][2])
        head = _float_tensor_head(tensor)
        if head is None:
            return
        start = b"\x42" + wire.varint(len(tensor)) + head
        begin = message.find(start)
        self._learn_shape(tag, event, start, message[begin + len(start) + 4 :])

    def _learn_shape(self, tag: str, event: bytes, before: bytes, after: bytes) -> None:
        """Kept only if the event is, byte for byte, one value of this tag and nothing else."""
        if event[0] != 0x09 or len(event) < _MIN_SHAPED_BYTES or self._shape_count >= _MAX_SHAPES:
            return
        _, position = _shaped_step(event)
        name = tag.encode()
        value = b"\x0a" + wire.varint(len(name)) + name + before
        summary = b"\x0a" + wire.varint(len(value) + 4 + len(after)) + value
        start = b"\x2a" + wire.varint(len(summary) + 4 + len(after)) + summary
        distance = _PLAIN + len(after)
        at = len(event) - distance
        if event[position:at] != start or event[at + 4 :] != after:
            return
        if distance not in self._shapes and len(self._shapes) >= _MAX_DISTANCES:
            return
        self._shapes.setdefault(distance, {})[start, after] = tag
        self._shape_count += 1


def _shaped_step(event: bytes) -> tuple[int, int]:
    """The step that follows the wall time, 0 when there is none, and where it ends."""
    if event[9] != 0x10:
        return 0, 9
    first, second, third = event[10:13]
    if first < 0x80:
        return first, 11
    if second < 0x80:
        return first & 0x7F | second << 7, 12
    if third < 0x80:
        return first & 0x7F | (second & 0x7F) << 7 | third << 14, 13
    try:
        step, position = wire.read_varint(event, 10)
    except wire.WireError:
        return 0, 9
    return wire.signed(step), position


def _float_tensor_head(tensor: bytes) -> bytes | None:
    """What comes before the value, when the value is the last thing in it."""
    head = tensor[:-4]
    is_float = any(
        head == b"\x08\x01" + shape + value for shape in _SCALAR_SHAPES for value in _VALUES
    )
    return head if is_float else None


def _rewind(curves: dict[str, Series], step: int) -> None:
    for tag, series in list(curves.items()):
        series.cut_from(step)
        if not len(series):
            del curves[tag]


def _is_start(session: bytes) -> bool:
    return any(
        number == _SESSION_STATUS and value == _SESSION_START
        for number, _, value in wire.fields(session)
    )


def _plugin_name(metadata: bytes) -> str:
    for number, _, value in wire.fields(metadata):
        if number == 1:
            for inner, _, name in wire.fields(wire.as_bytes(value)):
                if inner == 1:
                    return wire.as_text(name)
    return ""
