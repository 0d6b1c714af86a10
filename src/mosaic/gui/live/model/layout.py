"""Where the tiles of a mosaic lie. Pure."""

from __future__ import annotations

from typing import NamedTuple

from mosaic.fastlane.tiling import grid

# From here on single pixels are seen: they stay crisp. Below, steps of uneven size would be.
_CRISP_FROM = 2.0


class Box(NamedTuple):
    left: int
    top: int
    width: int
    height: int


def tile_boxes(
    count: int, picture: tuple[int, int], room: tuple[int, int], gap: int
) -> tuple[Box, ...]:
    """As large as the room allows, in the proportions of a picture, in the middle."""
    rows, columns = grid(count)
    width, height = (max(1, side) for side in picture)
    free_width = max(1, room[0] - gap * (columns - 1))
    free_height = max(1, room[1] - gap * (rows - 1))
    scale = min(free_width / columns / width, free_height / rows / height)
    tile_width, tile_height = max(1, int(width * scale)), max(1, int(height * scale))
    left = (room[0] - columns * (tile_width + gap) + gap) // 2
    top = (room[1] - rows * (tile_height + gap) + gap) // 2
    return tuple(
        Box(
            left + index % columns * (tile_width + gap),
            top + index // columns * (tile_height + gap),
            tile_width,
            tile_height,
        )
        for index in range(count)
    )


def neighbour(index: int, count: int, across: int, down: int) -> int:
    """Where an arrow key leads to; stays where it is at the edge."""
    if count < 1:
        return 0
    _, columns = grid(count)
    column = index % columns + across
    there = index + across + down * columns
    return there if 0 <= column < columns and 0 <= there < count else index


def is_smoothed(scale: float) -> bool:
    """Whether a picture that is drawn this much larger than it is looks better smoothed."""
    return scale < _CRISP_FROM and scale != 1.0
