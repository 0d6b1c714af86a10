"""Where the tiles of a mosaic lie. Pure."""

from __future__ import annotations

import math
from typing import NamedTuple

from mosaic.replay.changes import Box


class Tiles(NamedTuple):
    """Boxes of the pictures, row by row."""

    columns: int
    boxes: tuple[Box, ...]


def arranged(
    count: int, picture: tuple[int, int], room: tuple[int, int], gap: int, strip: int = 0
) -> Tiles:
    """As large as the room allows, in the proportions of a picture, in the middle.

    `strip`: the height of what is written above each of them.
    """
    if count < 1:
        return Tiles(1, ())
    width, height = (max(1, side) for side in picture)

    def scale_with(columns: int) -> float:
        rows = math.ceil(count / columns)
        free_width = max(1, room[0] - gap * (columns - 1))
        free_height = max(1, room[1] - gap * (rows - 1) - strip * rows)
        return min(free_width / columns / width, free_height / rows / height)

    def places_left(columns: int) -> int:
        return -count % columns

    columns = max(range(1, count + 1), key=lambda each: (scale_with(each), -places_left(each)))
    rows, scale = math.ceil(count / columns), scale_with(columns)
    tile_width, tile_height = max(1, int(width * scale)), max(1, int(height * scale))
    left = (room[0] - columns * (tile_width + gap) + gap) // 2
    top = max(0, (room[1] - rows * (tile_height + strip + gap) + gap) // 2)
    boxes = tuple(
        Box(
            left + index % columns * (tile_width + gap),
            top + index // columns * (tile_height + strip + gap) + strip,
            tile_width,
            tile_height,
        )
        for index in range(count)
    )
    return Tiles(columns, boxes)


def neighbour(index: int, count: int, columns: int, across: int, down: int) -> int:
    """Where an arrow key leads to; stays where it is at the edge."""
    if count < 1:
        return 0
    column = index % columns + across
    there = index + across + down * columns
    return there if 0 <= column < columns and 0 <= there < count else index
