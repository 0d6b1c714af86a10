"""The 216 colours every colour terminal has."""

from __future__ import annotations

import pytest

from mosaic.frames.pictures import brightnesses, cube_colour, cube_indices


@pytest.mark.parametrize("index", range(216))
def test_each_colour_of_the_cube_is_its_own_nearest(index: int) -> None:
    assert cube_indices(bytes(cube_colour(index))) == bytes([index])


def test_colours_between_go_to_the_nearest() -> None:
    assert cube_indices(bytes([0, 47, 48, 250, 116, 114])) == bytes([1, 180 + 12 + 1])


def test_brightness_never_overflows() -> None:
    assert brightnesses(b"\xff" * 6 + b"\x00" * 3) == bytes([254, 254, 0])
