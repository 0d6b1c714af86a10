"""Docks of a window that changes its size."""

from __future__ import annotations

from mosaic.gui.shell.model.dock_sizes import DockSizes, adjusted_sizes, dock_sizes

SMALL = dock_sizes(1280, 800)
LARGE = dock_sizes(2560, 1440)


def test_the_smallest_window_has_the_sizes_its_panels_are_drawn_for() -> None:
    assert SMALL == (300, 380, 220)
    assert dock_sizes(800, 600) == SMALL


def test_of_a_large_window_curves_get_more_than_the_form() -> None:
    assert LARGE.right - SMALL.right > 3 * (LARGE.left - SMALL.left)
    assert LARGE.left + LARGE.right < 2560 / 2, "the centre stays the largest"


def test_a_huge_window_does_not_stretch_them_for_ever() -> None:
    assert dock_sizes(7680, 4320) == dock_sizes(20_000, 9_000)


def test_docks_that_nobody_dragged_follow_the_window() -> None:
    assert adjusted_sizes(SMALL, SMALL, LARGE) == LARGE
    assert adjusted_sizes(LARGE, LARGE, SMALL) == SMALL


def test_a_dock_that_was_dragged_stays_as_it_is() -> None:
    dragged = SMALL._replace(right=520)
    assert adjusted_sizes(dragged, SMALL, LARGE) == DockSizes(LARGE.left, 520, LARGE.bottom)
