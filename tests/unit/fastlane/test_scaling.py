"""Frames as they fit into a slot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mosaic.fastlane.lane import Fitter, fitted_size


@pytest.mark.parametrize(
    ("size", "max_dim", "max_bytes", "expected"),
    [
        ((600, 400), 480, 10**9, (480, 320)),
        ((400, 600), 480, 10**9, (320, 480)),
        ((160, 210), 480, 10**9, (160, 210)),
        ((600, 400), 10_000, 600 * 400 * 3 // 4, (300, 200)),
        ((10_000, 1), 480, 10**9, (480, 1)),
    ],
)
def test_proportions_stay_and_nothing_grows(
    size: tuple[int, int], max_dim: int, max_bytes: int, expected: tuple[int, int]
) -> None:
    assert fitted_size(*size, max_dim, max_bytes) == expected


def test_a_frame_that_fits_stays_as_it_is() -> None:
    frame = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)
    fitted = Fitter(480, 10**6)(frame)
    assert (fitted.width, fitted.height) == (5, 4)
    np.testing.assert_array_equal(np.ravel(fitted.pixels), frame.ravel())


def test_a_large_frame_is_thinned_evenly() -> None:
    rows, columns = np.mgrid[0:400, 0:600]
    frame = np.stack([rows % 256, columns % 256, rows * 0], 2).astype(np.uint8)
    fitted = Fitter(60, 10**6)(frame)
    assert (fitted.width, fitted.height) == (60, 40)
    pixels = np.asarray(fitted.pixels).reshape(40, 60, 3)
    np.testing.assert_array_equal(pixels[:, 0, 0], (np.arange(40) * 10 + 5) % 256)
    np.testing.assert_array_equal(pixels[0, :, 1], (np.arange(60) * 10 + 5) % 256)


def test_sizes_may_change() -> None:
    fitter = Fitter(100, 10**6)
    for height, width in ((400, 600), (50, 50), (300, 300), (400, 600)):
        fitted = fitter(np.zeros((height, width, 3), np.uint8))
        assert np.asarray(fitted.pixels).nbytes == fitted.width * fitted.height * 3


@pytest.mark.parametrize(
    ("frame", "first"),
    [
        (np.full((2, 2), 9, np.uint8), 9),  # grey
        (np.full((2, 2, 4), 9, np.uint8), 9),  # with transparency
        (np.full((2, 2, 3), 0.5), 127),
        (np.full((2, 2, 3), 300), 255),
        (np.full((4, 4, 3), 9, np.uint8)[::2, ::2], 9),  # not contiguous
    ],
)
def test_other_pictures_become_colours(frame: Any, first: int) -> None:
    pixels = np.ravel(Fitter(480, 10**6)(frame).pixels)
    assert pixels.dtype == np.uint8
    assert pixels.tolist() == [first] * 12


@pytest.mark.parametrize("frame", ["text", [], np.zeros((2, 2, 2)), np.zeros((0, 4, 3)), 5])
def test_what_is_no_picture_is_refused(frame: Any) -> None:
    with pytest.raises(ValueError, match="no picture"):
        Fitter(480, 10**6)(frame)
