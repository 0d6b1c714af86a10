"""Which pictures are smoothed when they are scaled."""

from __future__ import annotations

import pytest

from mosaic.gui.widgets.scaling import is_smoothed

CART_POLE, PONG = (600, 400), (160, 210)


@pytest.mark.parametrize("scale", [0.3, 0.9, 1.3, 2.5, 4.0])
def test_lines_are_smooth_at_any_scale(scale: float) -> None:
    assert is_smoothed(CART_POLE, scale)


def test_a_picture_of_the_right_size_is_left_alone() -> None:
    assert not is_smoothed(CART_POLE, 1.0) and not is_smoothed(PONG, 1.0)


def test_large_pixels_stay_crisp() -> None:
    assert not is_smoothed(PONG, 2.0) and not is_smoothed(PONG, 3.7)
    assert is_smoothed(PONG, 1.5) and is_smoothed(PONG, 0.5)
