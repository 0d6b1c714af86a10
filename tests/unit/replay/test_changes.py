"""What is new in a picture, and the pictures that are made of it again."""

from __future__ import annotations

import numpy as np
import pytest

from mosaic.replay.changes import (
    NOWHERE,
    Box,
    Change,
    ChangeFinder,
    ChangingPicture,
    changed_box,
)


def noise(width: int, height: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


@pytest.mark.parametrize("width", [40, 41])  # rows of whole words, and others
def test_the_box_holds_every_pixel_that_differs_and_hardly_more(width: int) -> None:
    before = noise(width, 30)
    after = before.copy()
    after[7, 12, 2] ^= 1
    after[20, 31, 0] ^= 1
    left, top, across, down = changed_box(before, after)
    assert (top, top + down) == (7, 21)
    assert 9 <= left <= 12 and 32 <= left + across <= 35


def test_nothing_changes() -> None:
    assert changed_box(noise(8, 8), noise(8, 8)) == NOWHERE


@pytest.mark.parametrize("width", [40, 41])
def test_pictures_are_the_same_once_they_are_put_together(width: int) -> None:
    finder, made = ChangeFinder(), ChangingPicture()
    picture, chance = noise(width, 30), np.random.default_rng(1)
    for _ in range(50):
        left, top = chance.integers(0, width), chance.integers(0, 30)
        picture[top : top + chance.integers(0, 9), left : left + chance.integers(0, 9)] ^= 255
        made.take(finder.change_to(picture))
        assert made.pixels == picture.tobytes()


def test_what_is_sent_is_only_what_is_new() -> None:
    finder, picture = ChangeFinder(), noise(40, 30)
    assert len(finder.change_to(picture).pixels) == 40 * 30 * 3
    assert finder.change_to(picture) == Change(40, 30, NOWHERE, b"")
    picture[5, 5] ^= 255
    assert len(finder.change_to(picture).pixels) <= 8 * 3


def test_another_size_and_arrays_with_gaps() -> None:
    finder, made = ChangeFinder(), ChangingPicture()
    whole = noise(40, 30)
    for picture in (whole, whole[:10, :20], whole[::2, ::3], whole.transpose(1, 0, 2)):
        made.take(finder.change_to(picture))
        assert made.pixels == picture.tobytes()


@pytest.mark.parametrize(
    "change",
    [
        Change(4, 4, Box(0, 0, 4, 4), b"too few"),
        Change(9, 9, Box(0, 0, 1, 1), b"abc"),  # of a picture that never came
        Change(4, 4, Box(3, 3, 2, 1), bytes(6)),
        Change(4, 4, Box(-1, 0, 1, 1), b"abc"),
        Change(10**9, 10**9, NOWHERE, b""),
        Change(-4, -4, Box(0, 0, -4, -4), bytes(48)),
    ],
)
def test_a_change_that_does_not_fit_is_refused_and_changes_nothing(change: Change) -> None:
    made = ChangingPicture()
    made.take(Change(4, 4, Box(0, 0, 4, 4), bytes(48)))
    with pytest.raises(ValueError, match="change"):
        made.take(change)
    assert made.pixels == bytes(48)
