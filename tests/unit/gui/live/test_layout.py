"""Where tiles lie, and which one an arrow key leads to."""

from __future__ import annotations

import itertools

import pytest

from mosaic.gui.live.model.layout import arranged, neighbour
from mosaic.replay.changes import Box


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 16, 33, 64])
@pytest.mark.parametrize("picture", [(600, 400), (160, 210), (1, 500), (500, 1)])
@pytest.mark.parametrize("room", [(528, 400), (160, 120), (2000, 300)])
def test_tiles_stay_in_the_room_and_apart(
    count: int, picture: tuple[int, int], room: tuple[int, int]
) -> None:
    _, boxes = arranged(count, picture, room, 1)
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
    assert arranged(1, (300, 200), (600, 800), 4).boxes == (Box(0, 200, 600, 400),)


@pytest.mark.parametrize(
    ("picture", "room", "columns"),
    [
        ((600, 400), (820, 480), 3),  # three rows, the last with two: not two rows of four
        ((600, 400), (1600, 150), 8),
        ((600, 400), (620, 760), 2),
        ((160, 210), (820, 480), 4),
        ((100, 100), (412, 208), 4),
    ],
)
def test_eight_tiles_are_as_large_as_the_room_allows(
    picture: tuple[int, int], room: tuple[int, int], columns: int
) -> None:
    tiles = arranged(8, picture, room, 4)
    assert tiles.columns == columns
    right = max(box.left + box.width for box in tiles.boxes)
    bottom = max(box.top + box.height for box in tiles.boxes)
    used = max(right - tiles.boxes[0].left, 0) / room[0], (bottom - tiles.boxes[0].top) / room[1]
    assert max(used) > 0.95


def test_tiles_are_in_the_middle() -> None:
    boxes = arranged(8, (100, 100), (412, 400), 4).boxes
    assert boxes[0].left == (412 - (boxes[2].left + boxes[2].width - boxes[0].left)) // 2
    assert boxes[0].top == 400 - (boxes[7].top + boxes[7].height)


def test_what_is_written_above_a_tile_has_its_own_room() -> None:
    tiles = arranged(4, (100, 100), (300, 300), 4, strip=14)
    first, third = tiles.boxes[0], tiles.boxes[2]
    assert first.top >= 14
    assert third.top - (first.top + first.height) == 4 + 14
    assert third.top + third.height <= 300


def test_no_tiles_have_no_boxes() -> None:
    assert arranged(0, (4, 3), (100, 100), 4).boxes == ()


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
    assert neighbour(start, 8, 4, across, down) == end


def test_an_arrow_does_not_lead_to_a_place_without_a_tile() -> None:
    assert neighbour(1, 3, 2, 0, 1) == 1
    assert neighbour(0, 0, 1, 1, 0) == 0
