"""The map of values: what a pointer and the keyboard do on it, what it draws and what it cannot."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.contracts.agents import CELL_KINDS
from mosaic.gui.theme.theme import Theme
from mosaic.gui.value_map.model import colour_of
from mosaic.gui.value_map.view import ValueMapView
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.agent_samples import a_map, some_values


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(qapp, "dark")


@pytest.fixture
def show_view(qtbot: QtBot, theme: Theme) -> Callable[..., ValueMapView]:
    def show(map: Any, values: Any = None, width: int = 360, height: int = 420) -> ValueMapView:
        view = ValueMapView(theme)
        qtbot.addWidget(view)
        view.resize(width, height)
        view.show_map(map)
        view.show_values(values)
        view.show()
        qtbot.waitExposed(view)
        return view

    return show


def middle_of(view: ValueMapView, cell: int) -> QPoint:
    return view.canvas.grid.rect(cell).center().toPoint()


def test_a_click_tells_the_cell_and_words_tell_what_is_known(
    qtbot: QtBot, show_view: Callable[..., ValueMapView]
) -> None:
    view = show_view(a_map(), some_values(None, None, None, None, (0.0, 1.0, 0.0, 0.0)))
    clicked: list[int] = []
    view.cell_clicked.connect(clicked.append)
    qtbot.mouseMove(view.canvas, middle_of(view, 4))
    assert view.words.text().startswith("row 2, column 2 · worth 1 · best: down 1")
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=middle_of(view, 4))
    assert clicked == [4]
    # Beside the map, with another button, or drawn away from a cell: nothing was clicked.
    qtbot.mouseClick(view.canvas, Qt.MouseButton.LeftButton, pos=QPoint(1, 1))
    qtbot.mouseClick(view.canvas, Qt.MouseButton.RightButton, pos=middle_of(view, 4))
    qtbot.mousePress(view.canvas, Qt.MouseButton.LeftButton, pos=middle_of(view, 4))
    qtbot.mouseRelease(view.canvas, Qt.MouseButton.LeftButton, pos=middle_of(view, 0))
    assert clicked == [4]


def test_the_keyboard_reaches_every_cell(
    qtbot: QtBot, show_view: Callable[..., ValueMapView]
) -> None:
    view = show_view(a_map())
    clicked: list[int] = []
    view.cell_clicked.connect(clicked.append)
    view.activateWindow()
    view.canvas.setFocus()
    qtbot.waitUntil(view.canvas.hasFocus, timeout=WAIT_MS)
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Return):
        QTest.keyClick(view.canvas, key)
    assert clicked == [4]
    assert view.words.text() == "row 2, column 2 · never met"
    assert view.canvas.accessibleDescription() == view.words.text()


def test_only_cells_with_a_target_offer_a_click(
    qtbot: QtBot, show_view: Callable[..., ValueMapView]
) -> None:
    view = show_view(a_map(1, 2, targets=["", "state 1"]))
    view.show_click_help("click: go there")
    qtbot.mouseMove(view.canvas, middle_of(view, 0))
    assert "click" not in view.words.text()
    qtbot.mouseMove(view.canvas, middle_of(view, 1))
    assert view.words.text() == "row 1, column 2 · state 1 · never met · click: go there"
    assert view.canvas.cursor().shape() is Qt.CursorShape.PointingHandCursor


def test_layers_are_followed_until_a_person_chooses_one(
    qtbot: QtBot, show_view: Callable[..., ValueMapView]
) -> None:
    map = a_map(1, 2, layers=["here", "there"], states=[[0, 1], [2, 3]], targets=["", ""])
    view = show_view(map)
    assert view.layers.isVisible()
    view.show_state(3)
    assert view.layer == 1
    view.layers.setCurrentIndex(0)
    view.layers.activated.emit(0)
    assert not view.follow.isChecked()
    view.show_state(2)
    assert view.layer == 0
    view.follow.setChecked(True)
    assert view.layer == 1
    view.show_layer(7)  # there is none
    assert view.layer == 1
    view.show_map(a_map())
    assert not view.layers.isVisible()


def test_the_layer_that_most_is_known_of_is_shown_until_one_is_chosen(
    show_view: Callable[..., ValueMapView],
) -> None:
    map = a_map(1, 2, layers=["a", "b", "c"], states=[[0, 1], [2, 3], [4, 5]], targets=["", ""])
    view = show_view(map)
    assert view.layer == 0
    assert not view.follow.isVisible()  # there is nobody to follow
    view.show_values(some_values(None, None, (1.0,), (1.0,), (1.0,)))
    assert view.layer == 1
    view.layers.setCurrentIndex(0)
    view.layers.activated.emit(0)
    view.show_values(some_values(None, None, None, None, (1.0,), (2.0,)))
    assert view.layer == 0
    assert view.words.text() == "1 row, 2 columns; nothing is known yet"
    view.show_state(4)
    assert view.follow.isVisible()


def test_another_map_forgets_the_values_of_the_one_before(
    show_view: Callable[..., ValueMapView],
) -> None:
    view = show_view(a_map(), some_values((1.0, 0.0, 0.0, 0.0)))
    view.show_state(5)
    view.show_map(a_map(3, 3))
    assert view.view is not None
    assert view.view.scale is None
    view.show_map(None)
    view.show_state(1)
    view.show_values(some_values((1.0,)))
    view.canvas.grab()
    assert view.words.text() == ""


def test_cells_have_the_colour_of_their_worth(
    theme: Theme, show_view: Callable[..., ValueMapView]
) -> None:
    view = show_view(a_map(1, 2, targets=["", ""]), some_values((0.0, 0.0), (0.0, 1.0)))
    picture = view.canvas.grab().toImage()
    ratio = picture.devicePixelRatio()

    def colour_at(cell: int) -> QColor:
        at = view.canvas.grid.rect(cell).topRight() + QPoint(-4, 4)
        return picture.pixelColor(int(at.x() * ratio), int(at.y() * ratio))

    assert colour_at(0) == QColor(colour_of(0, theme.palette))
    assert colour_at(1) == QColor(colour_of(1, theme.palette))


@pytest.mark.parametrize("name", ["dark", "light"])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (4, 4), (64, 64), (1, 4096), (4096, 1)])
@pytest.mark.parametrize(("width", "height"), [(140, 180), (360, 420), (1400, 1200)])
def test_maps_of_every_shape_are_drawn(
    theme: Theme,
    show_view: Callable[..., ValueMapView],
    name: str,
    rows: int,
    columns: int,
    width: int,
    height: int,
) -> None:
    theme.choose(name)
    kinds = [
        [CELL_KINDS[(row + column) % len(CELL_KINDS)] for column in range(columns)]
        for row in range(rows)
    ]
    odd: list[tuple[float, ...] | None] = [
        None,
        (0.0, 0.0, 0.0, 0.0),
        (1e300, -1e300, 0.0, 0.0),
        (math.nan, 1.0),
        (-1.0, -1.0, -1.0, 2.0, 2.0),
    ]
    table = [odd[cell % len(odd)] for cell in range(rows * columns)]
    view = show_view(a_map(rows, columns, cells=kinds), some_values(*table), width, height)
    for state in range(min(20, rows * columns)):
        view.show_state(state)
    view.canvas.setFocus()
    grid = view.canvas.grid
    corner = grid.rect(rows * columns - 1).bottomRight()
    assert corner.x() <= view.canvas.width() and corner.y() <= view.canvas.height()
    assert grid.index_at(*grid.rect(rows * columns - 1).center().toTuple()) == rows * columns - 1
    assert not view.grab().isNull()
