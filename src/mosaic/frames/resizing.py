"""Pictures in another size, rows first, then columns. Slices and big integers do the work in C."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic.fastlane.layout import CHANNELS
from mosaic.fastlane.tiling import Picture


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
        rows = _rows(picture, _sampled(picture.height, height, down, wanted))
        columns = _sampled(picture.width, width, across, range(width))
        samples.append(_columns(rows, picture.width * CHANNELS, columns))
    turned, count = _mean(samples), len(wanted)
    # Column by column now, each channel by itself: turned back into rows.
    return b"".join([turned[row::count] for row in range(count)])


def _sampled(size: int, new_size: int, part: float, wanted: Sequence[int]) -> list[int]:
    return [int((index + part) * size / new_size) for index in wanted]


def _rows(picture: Picture, numbers: list[int]) -> bytes:
    stride, pixels = picture.width * CHANNELS, picture.pixels
    return b"".join([pixels[number * stride : (number + 1) * stride] for number in numbers])


def _columns(pixels: bytes, stride: int, numbers: list[int]) -> bytes:
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
