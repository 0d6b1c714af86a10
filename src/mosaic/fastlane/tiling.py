"""Several frames as one picture. Pure, on bytes: readers need not have numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from mosaic.fastlane.layout import CHANNELS, MAX_FRAME_BYTES, BrokenSegmentError

_GREY = 96
_THINNEST_GAP = 2


class Picture(NamedTuple):
    width: int
    height: int
    pixels: bytes  # RGB, row by row


def grid(count: int) -> tuple[int, int]:
    """(rows, columns), wider than high: 8 are 2 rows of 4."""
    rows = max(1, math.isqrt(count))
    return rows, max(1, math.ceil(count / rows))


def tiled(pictures: Sequence[Picture | None]) -> Picture:
    """Row by row, with grey lines between; where there is no picture, and around smaller ones, it
    is black. Raises BrokenSegmentError for sizes that no run of ours has.
    """
    if len(pictures) == 1 and pictures[0] is not None:
        return pictures[0]
    shown = [picture for picture in pictures if picture is not None]
    width = max((picture.width for picture in shown), default=1)
    height = max((picture.height for picture in shown), default=1)
    rows, columns = grid(len(pictures))
    # As broad as can still be told when a terminal draws it with a few hundred blocks.
    gap = max(_THINNEST_GAP, min(width, height) // 40)
    full_width, full_height = (width + gap) * columns - gap, (height + gap) * rows - gap
    if full_width * full_height * CHANNELS > MAX_FRAME_BYTES:
        # A broad one and a high one, each small enough, make tiles that are not.
        raise BrokenSegmentError(f"its frames make a picture of {width}x{height} for each tile")
    empty = Picture(width, height, bytes(width * height * CHANNELS))
    line = full_width * CHANNELS
    canvas = bytearray([_GREY]) * (line * full_height)
    for index in range(rows * columns):
        top, left = index // columns * (height + gap), index % columns * (width + gap)
        picture = pictures[index] if index < len(pictures) else None
        if picture is None or (picture.width, picture.height) != (width, height):
            _paste(canvas, line, empty, top, left)
        if picture is not None:
            top += (height - picture.height) // 2
            left += (width - picture.width) // 2
            _paste(canvas, line, picture, top, left)
    return Picture(full_width, full_height, bytes(canvas))


def _paste(canvas: bytearray, line: int, picture: Picture, top: int, left: int) -> None:
    stride = picture.width * CHANNELS
    for row in range(picture.height):
        start = (top + row) * line + left * CHANNELS
        canvas[start : start + stride] = picture.pixels[row * stride : (row + 1) * stride]
