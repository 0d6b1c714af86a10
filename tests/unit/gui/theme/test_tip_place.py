"""Tool tips are beside what they are about."""

from __future__ import annotations

from mosaic.gui.theme.tip_place import Box, tip_place

SCREEN = Box(0, 0, 1000, 800)


def test_a_tip_is_above_its_control_and_covers_neither_it_nor_what_is_below() -> None:
    control, tip = Box(100, 300, 80, 28), Box(140, 330, 200, 40)
    left, top = tip_place(control, tip, SCREEN)
    assert left == control.left and top + tip.height < control.top


def test_at_the_upper_edge_it_is_below() -> None:
    control = Box(100, 4, 80, 28)
    assert tip_place(control, Box(0, 0, 200, 40), SCREEN)[1] > control.bottom


def test_it_stays_on_the_screen() -> None:
    left, _ = tip_place(Box(960, 300, 30, 28), Box(0, 0, 200, 40), SCREEN)
    assert left + 200 == SCREEN.right
    assert tip_place(Box(-500, 300, 30, 28), Box(0, 0, 200, 40), SCREEN)[0] == 0


def test_on_something_large_it_stays_at_the_pointer() -> None:
    assert tip_place(Box(0, 0, 900, 600), Box(321, 123, 80, 20), SCREEN) == (321, 123)
