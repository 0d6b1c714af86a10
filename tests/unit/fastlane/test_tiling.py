"""Several frames as one picture."""

from __future__ import annotations

import pytest

from mosaic.fastlane.layout import BrokenSegmentError
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
    assert (picture.width, picture.height) == (4 * 6 + 3 * 2, 2 * 4 + 2)
    assert [shade_at(picture, 8 * column, 0) for column in range(4)] == [1, 2, 3, 4]
    assert [shade_at(picture, 8 * column + 5, 9) for column in range(4)] == [5, 6, 7, 8]


def test_lines_between_frames_are_as_broad_as_can_be_told() -> None:
    picture = tiled([plain(400, 400, 1), plain(400, 400, 2)])
    assert picture.width == 810
    assert [shade_at(picture, x, 200) for x in (399, 400, 409, 410)] == [1, 96, 96, 2]


def test_smaller_and_missing_frames_leave_black() -> None:
    picture = tiled([plain(4, 4, 9), None, plain(2, 2, 7), plain(4, 4, 8)])
    assert (picture.width, picture.height) == (10, 10)
    assert shade_at(picture, 0, 0) == 9
    assert shade_at(picture, 7, 1) == 0
    assert shade_at(picture, 0, 6) == 0
    assert shade_at(picture, 1, 7) == 7
    assert shade_at(picture, 9, 9) == 8


def test_a_place_without_a_frame_is_black() -> None:
    picture = tiled([plain(4, 4, 9)] * 5)
    assert (picture.width, picture.height) == (3 * 4 + 2 * 2, 2 * 4 + 2)
    assert shade_at(picture, 15, 9) == 0


def test_one_frame_stays_as_it_is() -> None:
    one = plain(3, 2, 5)
    assert tiled([one]) is one


def test_no_frame_at_all() -> None:
    assert tiled([None, None]) == Picture(4, 1, bytes(3) + bytes([96] * 6) + bytes(3))


def test_frames_that_make_no_picture_of_any_run() -> None:
    broad, high = plain(4096, 1, 1), plain(1, 4096, 1)
    assert tiled([broad, broad]).width == 8194
    with pytest.raises(BrokenSegmentError, match="4096x4096"):
        tiled([broad, high])
