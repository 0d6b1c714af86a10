"""Pictures in another size, in a terminal's colours, and as PNG files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.fastlane.tiling import Picture
from mosaic.frames.pictures import (
    brightnesses,
    cube_colour,
    cube_indices,
    fitted,
    png_bytes,
    resized,
    write_png,
)
from tests.unit.frames.pictures import drawn, letters, read_png


@pytest.mark.parametrize("index", range(216))
def test_each_colour_of_the_cube_is_its_own_nearest(index: int) -> None:
    assert cube_indices(bytes(cube_colour(index))) == bytes([index])


def test_colours_between_go_to_the_nearest() -> None:
    assert cube_indices(bytes([0, 47, 48, 250, 116, 114])) == bytes([1, 180 + 12 + 1])


def test_brightness_never_overflows() -> None:
    assert brightnesses(b"\xff" * 6 + b"\x00" * 3) == bytes([254, 254, 0])


@pytest.mark.parametrize(
    "picture", [drawn("RGB", "W.W"), drawn("R"), Picture(37, 21, os.urandom(37 * 21 * 3))]
)
def test_what_is_written_is_read(picture: Picture) -> None:
    assert read_png(png_bytes(picture)) == picture


def test_a_file_appears_whole_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.png"
    write_png(path, drawn("R"))
    write_png(path, drawn("GB"))
    assert read_png(path.read_bytes()) == drawn("GB")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_png(tmp_path / "missing" / "one.png", drawn("R"))


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
