"""Pictures in another size, in the colours of a terminal, or as a PNG file.

Slices and big integers do the work in C.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from struct import pack

from mosaic.fastlane.layout import CHANNELS
from mosaic.fastlane.tiling import Picture
from mosaic.files import atomic_write


def fitted(width: int, height: int, max_width: int, max_height: int) -> tuple[int, int]:
    """The largest size of these proportions within the limits, at least one pixel."""
    if width * max_height > height * max_width:
        return max_width, max(1, round(height * max_width / width))
    return max(1, round(width * max_height / height)), max_height


# Which places of the old picture stand for a new pixel, as (down, across) parts of it. No two in
# a row or column: a thin line, upright or level, is seen as often as can be.
_ONE = ((0.5, 0.5),)
_TWO = ((0.25, 0.25), (0.75, 0.75))
_FOUR = ((0.125, 0.375), (0.375, 0.875), (0.625, 0.125), (0.875, 0.625))


def resized(picture: Picture, width: int, height: int) -> Picture:
    """Nearest pixels; where it shrinks to half, means of two, to a sixth, of four."""
    if picture[:2] == (width, height):
        return picture
    return Picture(width, height, resized_rows(picture, width, height, range(height)))


def resized_rows(picture: Picture, width: int, height: int, wanted: Sequence[int]) -> bytes:
    """Only these rows of the picture in its new size."""
    factor = min(picture.width / width, picture.height / height)
    places = _FOUR if factor >= 6 else _TWO if factor >= 2 else _ONE
    samples = []
    for down, across in places:
        rows = _picked_rows(picture, _sampled(picture.height, height, down, wanted))
        columns = _sampled(picture.width, width, across, range(width))
        samples.append(_picked_columns(rows, picture.width * CHANNELS, columns))
    turned, count = _mean(samples), len(wanted)
    # Column by column now, each channel by itself: turned back into rows.
    return b"".join([turned[row::count] for row in range(count)])


def _sampled(size: int, new_size: int, part: float, wanted: Sequence[int]) -> list[int]:
    return [int((index + part) * size / new_size) for index in wanted]


def _picked_rows(picture: Picture, numbers: list[int]) -> bytes:
    stride, pixels = picture.width * CHANNELS, picture.pixels
    return b"".join([pixels[number * stride : (number + 1) * stride] for number in numbers])


def _picked_columns(pixels: bytes, stride: int, numbers: list[int]) -> bytes:
    starts = [number * CHANNELS + channel for number in numbers for channel in range(CHANNELS)]
    return b"".join([pixels[start::stride] for start in starts])


def _mean(samples: list[bytes]) -> bytes:
    """Byte by byte, of one, two or four of the same size."""
    if len(samples) == 1:
        return samples[0]
    size = len(samples[0])
    without_lowest = int.from_bytes(b"\xfe" * size, "little")
    numbers = [int.from_bytes(sample, "little") for sample in samples]
    while len(numbers) > 1:
        # (a + b) / 2 without a carry into the neighbour.
        numbers = [
            (a & b) + (((a ^ b) & without_lowest) >> 1)
            for a, b in zip(numbers[::2], numbers[1::2], strict=True)
        ]
    return numbers[0].to_bytes(size, "little")


LEVELS = 6  # of red, green and blue
SHADES = (0, 95, 135, 175, 215, 255)  # of a level, as terminals show it
FIRST_TERMINAL_COLOUR = 16  # where the cube starts among a terminal's 256 colours


def _nearest_level(value: int) -> int:
    return min(range(LEVELS), key=lambda level: abs(SHADES[level] - value))


_NEAREST = [_nearest_level(value) for value in range(256)]
_CUBE = tuple(bytes(weight * level for level in _NEAREST) for weight in (36, 6, 1))
# What red, green and blue add to the brightness; together at most 255.
_BRIGHTNESS = tuple(
    bytes(int(value * part) for value in range(256)) for part in (0.299, 0.587, 0.114)
)


def cube_indices(pixels: bytes) -> bytes:
    """One byte per pixel, 0 to 215: red * 36 + green * 6 + blue, each of them a level."""
    return _summed(pixels, _CUBE)


def brightnesses(pixels: bytes) -> bytes:
    """One byte per pixel, 0 to 254."""
    return _summed(pixels, _BRIGHTNESS)


def cube_colour(index: int) -> tuple[int, int, int]:
    return SHADES[index // 36], SHADES[index // LEVELS % LEVELS], SHADES[index % LEVELS]


def _summed(pixels: bytes, tables: tuple[bytes, ...]) -> bytes:
    """The bytes of each pixel, looked up and added. As one number each channel: no loop here."""
    planes = (pixels[channel::CHANNELS].translate(table) for channel, table in enumerate(tables))
    total = sum(int.from_bytes(plane, "little") for plane in planes)
    return total.to_bytes(len(pixels) // CHANNELS, "little")


SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB = 2
_BITS = 8
_NO_FILTER = b"\x00"


def write_png(path: Path, picture: Picture) -> None:
    """Readable by others, as pictures are; raises OSError."""
    atomic_write(path, png_bytes(picture), 0o644)


def png_bytes(picture: Picture) -> bytes:
    stride = picture.width * CHANNELS
    rows = (
        _NO_FILTER + picture.pixels[start : start + stride]
        for start in range(0, len(picture.pixels), stride)
    )
    head = pack(">IIBBBBB", picture.width, picture.height, _BITS, _RGB, 0, 0, 0)
    body = zlib.compress(b"".join(rows))
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))
