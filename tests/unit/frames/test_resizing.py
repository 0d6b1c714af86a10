"""Pictures keep their proportions and their content in another size."""

from __future__ import annotations

import pytest

from mosaic.fastlane.tiling import Picture
from mosaic.frames.pictures import fitted, resized
from tests.unit.frames.pictures import drawn, letters


@pytest.mark.parametrize(
    ("size", "room", "expected"),
    [
        ((480, 320), (80, 46), (69, 46)),
        ((320, 480), (80, 46), (31, 46)),
        ((480, 320), (60, 46), (60, 40)),
        ((8, 8), (80, 46), (46, 46)),
        ((1000, 1), (10, 10), (10, 1)),
        ((1, 1000), (10, 10), (1, 10)),
    ],
)
def test_proportions_are_kept(
    size: tuple[int, int], room: tuple[int, int], expected: tuple[int, int]
) -> None:
    assert fitted(*size, *room) == expected


def test_the_same_size_is_the_same_picture() -> None:
    picture = drawn("RG", "BW")
    assert resized(picture, 2, 2) is picture


def test_a_larger_picture_repeats_its_pixels() -> None:
    assert letters(resized(drawn("RG", "BW"), 4, 6)) == ["RRGG"] * 3 + ["BBWW"] * 3


def test_a_somewhat_smaller_picture_takes_the_nearest_pixels() -> None:
    assert letters(resized(drawn("RGB", "WWW", ".R."), 2, 2)) == ["RB", ".."]


def test_one_pixel_can_become_one_column_and_one_row() -> None:
    assert letters(resized(drawn("R"), 1, 3)) == ["R", "R", "R"]
    assert letters(resized(drawn("RGB"), 1, 1)) == ["G"]


def test_half_the_size_is_made_of_means() -> None:
    picture = Picture(2, 2, bytes([0, 10, 255, 9, 9, 9, 9, 9, 9, 100, 20, 254]))
    assert resized(picture, 1, 1).pixels == bytes([50, 15, 254])


@pytest.mark.parametrize("is_upright", [True, False])
def test_in_a_sixth_of_the_size_no_line_of_two_pixels_is_lost(is_upright: bool) -> None:
    for place in range(5):
        lines = ["......"[:place] + "WW" + "......"[place + 2 :]] * 6
        rows = lines if is_upright else ["".join(row) for row in zip(*lines, strict=True)]
        assert min(resized(drawn(*rows), 1, 1).pixels) >= 63


def test_means_do_not_spill_into_their_neighbours() -> None:
    picture = Picture(2, 2, bytes([255, 255, 255, 0, 0, 0, 0, 0, 0, 255, 254, 1]))
    assert resized(picture, 1, 1).pixels == bytes([255, 254, 128])


def test_halves_of_a_picture_stay_where_they_are() -> None:
    picture = drawn(*(["R" * 20 + "B" * 20] * 10 + ["G" * 20 + "W" * 20] * 10))
    assert letters(resized(picture, 4, 2)) == ["RRBB", "GGWW"]
