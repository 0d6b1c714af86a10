"""Observations as a few numbers."""

from __future__ import annotations

import math

import numpy as np

from mosaic.replay.profile import MOST_NUMBERS, profile_of


def test_few_numbers_stay_what_they_are() -> None:
    assert profile_of(np.array([1.5, -2.0], np.float32)) == [1.5, -2.0]
    assert profile_of({"b": [3], "a": (1, True)}) == [1.0, 1.0, 3.0]
    assert profile_of(np.int64(7)) == [7.0]
    assert profile_of(5) == [5.0]


def test_many_become_means_of_their_neighbours() -> None:
    image = np.repeat(np.arange(MOST_NUMBERS, dtype=np.uint8), 100).reshape(MOST_NUMBERS, 10, 10)
    assert profile_of(image) == [float(value) for value in range(MOST_NUMBERS)]
    listed = profile_of(image.reshape(-1).tolist())
    assert listed == profile_of(image)
    assert len(profile_of(np.ones(MOST_NUMBERS * 2 - 1))) == MOST_NUMBERS


def test_what_is_no_number_is_left_out() -> None:
    assert profile_of("text") == [] and profile_of(None) == [] and profile_of(np.array([])) == []
    assert all(math.isnan(value) for value in profile_of([math.inf, math.nan]))
