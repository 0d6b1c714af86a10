"""Histograms and pictures in TensorBoard's messages; field numbers are those of its protocol."""

from __future__ import annotations

from collections.abc import Iterator
from struct import iter_unpack

from mosaic.analytics import protobuf_wire as wire
from mosaic.analytics.media import MOST_BUCKETS, Histogram, Picture, histogram, histogram_of_limits

HISTOGRAM_PLUGIN, IMAGE_PLUGIN = "histograms", "images"
_MIN, _MAX, _LIMITS, _COUNTS = 1, 2, 6, 7
_ENCODED = 4  # of an image
_DTYPE, _CONTENT, _FLOATS, _DOUBLES, _STRINGS = 1, 4, 5, 6, 8
_WIDTHS = {1: (4, "<f"), 2: (8, "<d")}
_BESIDE_PICTURES = 2  # a tensor of pictures begins with their width and height


def histogram_value(message: bytes, step: int) -> Histogram | None:
    low = high = 0.0
    columns: dict[int, list[float]] = {_LIMITS: [], _COUNTS: []}
    for number, _, value in wire.fields(message):
        if number == _MIN:
            low = wire.as_double(value)
        elif number == _MAX:
            high = wire.as_double(value)
        elif number in columns:
            columns[number] += _numbers(wire.as_bytes(value), 8, "<d")
            if len(columns[number]) > MOST_BUCKETS:
                return None
    return histogram_of_limits(step, low, high, columns[_LIMITS], columns[_COUNTS])


def histogram_tensor(message: bytes, step: int) -> Histogram | None:
    """Rows of left end, right end and count."""
    dtype, values = 0, []
    for number, _, value in wire.fields(message):
        if number == _DTYPE:
            dtype = wire.as_int(value)
        elif number == _CONTENT and dtype in _WIDTHS:
            values = _numbers(wire.as_bytes(value), *_WIDTHS[dtype])
        elif number == _DOUBLES:
            values += _numbers(wire.as_bytes(value), 8, "<d")
        elif number == _FLOATS:
            values += _numbers(wire.as_bytes(value), 4, "<f")
        if len(values) > 3 * MOST_BUCKETS:
            return None
    if not values or len(values) % 3:
        return None
    lefts, rights, counts = values[::3], values[1::3], values[2::3]
    if lefts[0] == rights[-1]:
        return histogram(step, (lefts[0] - 0.5, lefts[0] + 0.5), (sum(counts),))
    return histogram(step, (lefts[0], *rights), counts)


def picture_value(message: bytes, step: int) -> Picture:
    for number, _, value in wire.fields(message):
        if number == _ENCODED:
            return Picture(step, wire.as_bytes(value))
    return Picture(step)


def picture_tensor(message: bytes, step: int) -> Picture:
    """The first of its pictures."""
    strings = _strings(message)
    for place, text in enumerate(strings):
        if place == _BESIDE_PICTURES:
            return Picture(step, text)
    return Picture(step)


def _strings(message: bytes) -> Iterator[bytes]:
    for number, _, value in wire.fields(message):
        if number == _STRINGS:
            yield wire.as_bytes(value)


def _numbers(data: bytes, width: int, layout: str) -> list[float]:
    if len(data) % width or len(data) > width * 3 * MOST_BUCKETS:
        raise wire.WireError("numbers of the wrong width, or too many")
    return [number for (number,) in iter_unpack(layout, data)]
