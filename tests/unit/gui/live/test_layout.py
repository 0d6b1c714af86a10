"""Where tiles lie, and which one an arrow key leads to."""

from __future__ import annotations

import itertools

import pytest

from mosaic.gui.live.model.layout import Box, is_smoothed, neighbour, tile_boxes


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 16, 33, 64])
@pytest.mark.parametrize("picture", [(600, 400), (160, 210), (1, 500), (500, 1)])
@pytest.mark.parametrize("room", [(528, 400), (160, 120), (2000, 300)])
def test_tiles_stay_in_the_room_and_apart(
    count: int, picture: tuple[int, int], room: tuple[int, int]
) -> None:
    boxes = tile_boxes(count, picture, room, 1)
    assert len(boxes) == count
    for box in boxes:
        assert box.width >= 1 and box.height >= 1
        assert box.left >= 0 and box.left + box.width <= room[0]
    for one, other in itertools.combinations(boxes, 2):
        assert not (
            one.left < other.left + other.width
            and other.left < one.left + one.width
            and one.top < other.top + other.height
            and other.top < one.top + one.height
        )


def test_one_picture_fills_the_room_in_its_proportions() -> None:
    assert tile_boxes(1, (300, 200), (600, 800), 4) == (Box(0, 200, 600, 400),)


def test_eight_are_two_rows_of_four_in_the_middle() -> None:
    boxes = tile_boxes(8, (100, 100), (412, 400), 4)
    assert [box.left for box in boxes[:4]] == [0, 104, 208, 312]
    assert {box.top for box in boxes} == {98, 202}


def test_no_tiles_have_no_boxes() -> None:
    assert tile_boxes(0, (4, 3), (100, 100), 4) == ()


@pytest.mark.parametrize(
    ("start", "across", "down", "end"),
    [
        (0, 1, 0, 1),
        (3, 1, 0, 3),  # not into the next row
        (4, -1, 0, 4),
        (1, 0, 1, 5),
        (5, 0, -1, 1),
        (5, 0, 1, 5),
        (0, 0, -1, 0),
    ],
)
def test_arrows_move_within_the_grid(start: int, across: int, down: int, end: int) -> None:
    assert neighbour(start, 8, across, down) == end


def test_an_arrow_does_not_lead_to_a_place_without_a_tile() -> None:
    assert neighbour(1, 3, 0, 1) == 1
    assert neighbour(0, 0, 1, 0) == 0


def test_large_pixels_stay_crisp() -> None:
    assert is_smoothed(0.5) and is_smoothed(1.5)
    assert not is_smoothed(1.0) and not is_smoothed(3.7)
