"""Docks of a window that changes its size."""

from __future__ import annotations

from mosaic.gui.shell.model.dock_sizes import DockSizes, adjusted_sizes, dock_sizes, is_narrow

SMALL = dock_sizes(1280, 800)
LARGE = dock_sizes(2560, 1440)


def test_the_smallest_window_has_the_sizes_its_panels_are_drawn_for() -> None:
    assert SMALL == (300, 380, 220)


def test_in_a_narrow_window_form_and_curves_share_a_side_that_is_wide_enough_for_both() -> None:
    assert not is_narrow(1280)
    for width in (760, 853, 900, 1024):
        assert is_narrow(width)
        assert 340 <= dock_sizes(width, 700).left <= 380
        assert width - dock_sizes(width, 700).left >= 400, "the centre has room, too"


def test_in_a_low_window_the_table_is_lower() -> None:
    assert SMALL.bottom > dock_sizes(900, 700).bottom > dock_sizes(853, 533).bottom > 100
    assert dock_sizes(900, 100).bottom == dock_sizes(900, 0).bottom


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
