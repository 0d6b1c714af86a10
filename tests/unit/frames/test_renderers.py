"""What all ways of drawing have in common, for pictures and terminals of any size."""

from __future__ import annotations

import os

import pytest

from mosaic.fastlane.tiling import Picture
from mosaic.frames.drawing import AUTO, STYLES, Room
from mosaic.frames.terminal import renderer_for

SIZES = [(1, 1), (1, 700), (700, 1), (3, 2), (64, 48), (161, 99)]
ROOMS = [Room(1, 1), Room(2, 1), Room(1, 9), Room(80, 23), Room(80, 23, (9, 18)), Room(33, 50)]


@pytest.mark.parametrize("style", [style for style in STYLES if style != AUTO])
@pytest.mark.parametrize("size", SIZES)
def test_any_picture_fits_into_any_room(style: str, size: tuple[int, int]) -> None:
    renderer = renderer_for(style, {})
    for room in ROOMS:
        # Only what changes is drawn: a dark picture, then a bright one, so that all colours are far
        # from those before, also where a whole picture becomes one cell.
        dark = bytes(value % 100 for value in os.urandom(size[0] * size[1] * 3))
        for content in (dark, bytes(value + 150 for value in dark)):
            picture = Picture(*size, content)
            drawing = renderer.draw(picture, room)
            assert 1 <= drawing.rows <= room.rows
            assert drawing.output
        assert renderer.text(picture, room)
