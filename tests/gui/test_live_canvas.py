"""The tiles: what is drawn, what is drawn again, and what mouse and keys do."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mosaic.fastlane.tiling import Picture
from mosaic.gui.live.tile_canvas import TileCanvas
from mosaic.gui.state.live_watch import Tile
from tests.gui.conftest import WAIT_MS


def picture(shade: int, width: int = 30, height: int = 20) -> Picture:
    return Picture(width, height, bytes([shade]) * (width * height * 3))


def tiles(*shades: int) -> list[Tile]:
    return [Tile(slot, picture(shade), None) for slot, shade in enumerate(shades)]


@pytest.fixture
def canvas(qtbot: QtBot) -> TileCanvas:
    made = TileCanvas()
    qtbot.addWidget(made)
    made.resize(400, 300)
    made.show()
    qtbot.waitExposed(made)
    return made


def middle(canvas: TileCanvas, slot: int) -> QPoint:
    return canvas.box(slot).center()


def colour_at(canvas: TileCanvas, place: QPoint) -> QColor:
    """Whatever the scale of the screen is."""
    image = canvas.grab().toImage()
    return image.pixelColor(place * image.devicePixelRatio())


def shade_at(canvas: TileCanvas, slot: int) -> int:
    return colour_at(canvas, middle(canvas, slot)).red()


def test_every_tile_shows_its_picture(canvas: TileCanvas) -> None:
    canvas.show_tiles(tiles(10, 80, 150, 220))
    assert [shade_at(canvas, slot) for slot in range(4)] == [10, 80, 150, 220]


def test_only_tiles_with_something_new_are_drawn_again(qtbot: QtBot, canvas: TileCanvas) -> None:
    shown = tiles(10, 80, 150, 220)
    canvas.show_tiles(shown)
    qtbot.waitUntil(lambda: canvas.painted_pictures == 4, timeout=WAIT_MS)
    canvas.show_tiles([*shown[:3], Tile(3, picture(90), None)])
    qtbot.waitUntil(lambda: canvas.painted_pictures == 5, timeout=WAIT_MS)
    assert shade_at(canvas, 3) == 90 and shade_at(canvas, 0) == 10


def test_a_click_enlarges_and_another_one_goes_back(qtbot: QtBot, canvas: TileCanvas) -> None:
    canvas.show_tiles(tiles(10, 80, 150, 220))
    small = canvas.box(2)
    with qtbot.waitSignal(canvas.tile_clicked, timeout=WAIT_MS) as clicked:
        QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=small.center())
    assert clicked.args == [2] and canvas.enlarged == 2
    assert canvas.box(2).width() > 1.5 * small.width()
    assert canvas.box(0).isEmpty()
    QTest.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=middle(canvas, 2))
    assert canvas.enlarged is None and canvas.box(2) == small


def test_the_keyboard_reaches_every_tile(canvas: TileCanvas) -> None:
    canvas.show_tiles(tiles(10, 80, 150, 220))
    canvas.setFocus()
    QTest.keyClick(canvas, Qt.Key.Key_Down)
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert canvas.focused_slot == 3
    QTest.keyClick(canvas, Qt.Key.Key_Return)
    assert canvas.enlarged == 3
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert canvas.enlarged == 2
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert canvas.enlarged is None


def test_an_enlarged_tile_that_vanishes_gives_way_to_the_rest(canvas: TileCanvas) -> None:
    canvas.show_tiles(tiles(10, 80, 150, 220))
    canvas.enlarge(3)
    canvas.show_tiles(tiles(10, 80))
    assert canvas.enlarged is None and not canvas.box(1).isEmpty()
    canvas.enlarge(3)
    assert canvas.enlarged is None


def test_a_veil_is_over_the_picture_and_goes_again(canvas: TileCanvas) -> None:
    canvas.show_tiles(tiles(250))
    corner = canvas.box(0).topLeft() + QPoint(3, 3)
    before = colour_at(canvas, corner)
    canvas.show_veil("stalled 12 s")
    assert colour_at(canvas, corner) != before
    assert canvas.accessibleDescription() == "stalled 12 s"
    canvas.show_veil("")
    assert colour_at(canvas, corner) == before


def test_a_snapshot_has_every_pixel(canvas: TileCanvas) -> None:
    assert canvas.snapshot().isNull()
    canvas.show_tiles(tiles(10, 80, 150, 220))
    whole = canvas.snapshot()
    assert (whole.width(), whole.height()) == (2 * 30 + 4, 2 * 20 + 4)
    assert QColor(whole.pixel(29, 19)).red() == 10 and QColor(whole.pixel(63, 43)).red() == 220
    canvas.enlarge(1)
    one = canvas.snapshot()
    assert (one.width(), one.height(), QColor(one.pixel(5, 5)).red()) == (30, 20, 80)


def test_a_tile_without_a_picture_is_dark(canvas: TileCanvas) -> None:
    canvas.show_tiles([Tile(0, picture(200), None), Tile(1, None, None)])
    assert (shade_at(canvas, 0), shade_at(canvas, 1)) == (200, 0)


def test_pictures_of_odd_sizes_stay_within_their_tiles(canvas: TileCanvas) -> None:
    canvas.show_tiles([Tile(0, picture(200, 1, 60), None), Tile(1, picture(90, 90, 1), None)])
    assert canvas.rect().contains(canvas.box(0)) and canvas.rect().contains(canvas.box(1))
    canvas.resize(160, 120)
    assert canvas.rect().contains(canvas.box(1))
    assert not canvas.grab().isNull()
