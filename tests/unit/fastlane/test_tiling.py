"""Several frames as one picture."""

from __future__ import annotations

import pytest

from mosaic.fastlane.tiling import Picture, grid, tiled


def plain(width: int, height: int, shade: int) -> Picture:
    return Picture(width, height, bytes([shade]) * (width * height * 3))


def shade_at(picture: Picture, x: int, y: int) -> int:
    return picture.pixels[(y * picture.width + x) * 3]


@pytest.mark.parametrize(
    ("count", "rows_and_columns"),
    [(1, (1, 1)), (2, (1, 2)), (3, (1, 3)), (4, (2, 2)), (6, (2, 3)), (8, (2, 4)), (9, (3, 3))],
)
def test_the_grid_is_wider_than_high(count: int, rows_and_columns: tuple[int, int]) -> None:
    assert grid(count) == rows_and_columns


@pytest.mark.parametrize("count", range(1, 65))
def test_every_frame_has_a_place(count: int) -> None:
    rows, columns = grid(count)
    assert rows * columns >= count
    assert (rows - 1) * columns < count
    assert rows <= columns


def test_eight_frames() -> None:
    picture = tiled([plain(6, 4, shade) for shade in range(1, 9)])
    assert (picture.width, picture.height) == (24, 8)
    assert [shade_at(picture, 6 * column, 0) for column in range(4)] == [1, 2, 3, 4]
    assert [shade_at(picture, 6 * column + 5, 7) for column in range(4)] == [5, 6, 7, 8]


def test_smaller_and_missing_frames_leave_black() -> None:
    picture = tiled([plain(4, 4, 9), None, plain(2, 2, 7), plain(4, 4, 8)])
    assert (picture.width, picture.height) == (8, 8)
    assert shade_at(picture, 0, 0) == 9
    assert shade_at(picture, 5, 1) == 0
    assert shade_at(picture, 0, 4) == 0
    assert shade_at(picture, 1, 5) == 7
    assert shade_at(picture, 7, 7) == 8


def test_one_frame_stays_as_it_is() -> None:
    one = plain(3, 2, 5)
    assert tiled([one]) is one


def test_no_frame_at_all() -> None:
    assert tiled([None, None]) == Picture(2, 1, bytes(6))
