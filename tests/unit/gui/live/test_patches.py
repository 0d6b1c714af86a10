"""Which part of a picture is scaled again."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from mosaic.gui.live.model.patches import Patches, united
from mosaic.replay.changes import NOWHERE, Box

SIZES = [
    ((600, 400), (558, 372)),
    ((600, 400), (601, 401)),
    ((600, 400), (301, 201)),
    ((600, 400), (1200, 800)),
    ((160, 210), (265, 348)),
    ((480, 480), (348, 348)),
    ((97, 3), (500, 15)),
    ((1, 60), (3, 180)),
]


def boxes(size: tuple[int, int]) -> Iterator[Box]:
    chance = random.Random(1)
    for _ in range(50):
        width, height = (chance.randint(1, side) for side in size)
        yield Box(
            chance.randint(0, size[0] - width), chance.randint(0, size[1] - height), width, height
        )


@pytest.mark.parametrize(("size", "scaled"), SIZES)
def test_a_patch_holds_all_that_the_change_reaches(
    size: tuple[int, int], scaled: tuple[int, int]
) -> None:
    patches = Patches(size, scaled)
    for box in boxes(size):
        source, to, kept, at = patches.patch(box)
        for axis in (0, 1):
            scale = scaled[axis] / size[axis]
            start, stop = box[axis], box[axis] + box[axis + 2]
            assert 0 <= source[axis] <= start
            assert stop <= source[axis] + source[axis + 2] <= size[axis]
            # A pixel of the picture is mixed into those of its neighbours.
            assert at[axis] <= max(0, math.floor((start - 1) * scale))
            assert at[axis] + kept[axis + 2] >= min(scaled[axis], math.ceil((stop + 1) * scale))
            assert kept[axis] >= 0 and kept[axis] + kept[axis + 2] <= to[axis]


@pytest.mark.parametrize(("size", "scaled"), SIZES)
def test_its_edges_lie_where_they_lie_in_the_whole_picture(
    size: tuple[int, int], scaled: tuple[int, int]
) -> None:
    patches = Patches(size, scaled)
    for box in boxes(size):
        source, to, kept, at = patches.patch(box)
        for axis in (0, 1):
            begin = at[axis] - kept[axis]
            most = max(1, scaled[axis] / size[axis]) / 60
            for edge, found in (
                (source[axis], begin),
                (source[axis] + source[axis + 2], begin + to[axis]),
            ):
                assert abs(edge * scaled[axis] / size[axis] - found) <= most + 1e-9


def test_a_small_change_is_a_small_patch() -> None:
    source = Patches((600, 400), (558, 372)).patch(Box(280, 150, 60, 120)).source
    assert source.width * source.height < 600 * 400 / 5


def test_two_boxes_in_one() -> None:
    assert united(Box(1, 2, 3, 4), Box(10, 0, 1, 3)) == Box(1, 0, 10, 6)
    assert united(NOWHERE, Box(1, 2, 3, 4)) == united(Box(1, 2, 3, 4), NOWHERE) == Box(1, 2, 3, 4)
