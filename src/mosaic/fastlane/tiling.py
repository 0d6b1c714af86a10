"""Several frames as one picture. Pure, on bytes: readers need not have numpy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from mosaic.fastlane.layout import CHANNELS


class Picture(NamedTuple):
    width: int
    height: int
    pixels: bytes  # RGB, row by row


def grid(count: int) -> tuple[int, int]:
    """(rows, columns), wider than high: 8 are 2 rows of 4."""
    rows = max(1, math.isqrt(count))
    return rows, max(1, math.ceil(count / rows))


def tiled(pictures: Sequence[Picture | None]) -> Picture:
    """Row by row; where there is no picture, and around smaller ones, it is black."""
    if len(pictures) == 1 and pictures[0] is not None:
        return pictures[0]
    shown = [picture for picture in pictures if picture is not None]
    width = max((picture.width for picture in shown), default=1)
    height = max((picture.height for picture in shown), default=1)
    rows, columns = grid(len(pictures))
    line = width * columns * CHANNELS
    canvas = bytearray(line * height * rows)
    for index, picture in enumerate(pictures):
        if picture is None:
            continue
        top, left = index // columns * height, index % columns * width
        top += (height - picture.height) // 2
        left += (width - picture.width) // 2
        stride = picture.width * CHANNELS
        for row in range(picture.height):
            start = (top + row) * line + left * CHANNELS
            canvas[start : start + stride] = picture.pixels[row * stride : (row + 1) * stride]
    return Picture(width * columns, height * rows, bytes(canvas))
