"""The combo box to type into, as a person uses it."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractItemView, QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.widgets.choosers import SearchCombo
from tests.gui.conftest import WAIT_MS

GAMES = [f"Game {letter}" for letter in "ABCDEFGHIJKLMNOPQRST"]
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def combo(qtbot: QtBot, application: Application) -> SearchCombo:
    """With the look of the window, which decides how high a list is."""
    combo = SearchCombo(parent=application.window)
    combo.set_texts(GAMES)
    combo.show_text("Game C")
    combo.setGeometry(20, 120, 240, 32)
    combo.show()
    combo.raise_()
    application.window.activateWindow()
    qtbot.waitUntil(combo.isVisible, timeout=WAIT_MS)
    return combo


def edit_of(combo: SearchCombo) -> QLineEdit:
    edit = combo.lineEdit()
    assert edit is not None
    return edit


def offered(combo: SearchCombo) -> QAbstractItemView:
    completer = combo.completer()
    assert completer is not None
    view = completer.popup()
    assert view is not None
    return view


def lines(combo: SearchCombo) -> list[str]:
    model = offered(combo).model()
    return [model.index(row, 0).data() for row in range(model.rowCount())]


def test_a_click_shows_everything_and_typing_searches_it(qtbot: QtBot, combo: SearchCombo) -> None:
    picked: list[str] = []
    combo.picked.connect(picked.append)
    qtbot.mouseClick(edit_of(combo), LEFT, pos=QPoint(30, 10))
    qtbot.waitUntil(offered(combo).isVisible, timeout=WAIT_MS)
    assert lines(combo) == GAMES
    qtbot.keyClicks(offered(combo), "q")
    assert edit_of(combo).text() == "q", "what was there is replaced"
    qtbot.waitUntil(lambda: lines(combo) == ["Game Q"], timeout=WAIT_MS)
    qtbot.keyClick(offered(combo), Qt.Key.Key_Down)
    qtbot.keyClick(offered(combo), Qt.Key.Key_Return)
    assert picked == ["Game Q"] and combo.currentText() == "Game Q"


def test_a_list_that_was_only_looked_at_changes_nothing(qtbot: QtBot, combo: SearchCombo) -> None:
    picked: list[str] = []
    combo.picked.connect(picked.append)
    qtbot.mouseClick(edit_of(combo), LEFT, pos=QPoint(30, 10))
    qtbot.waitUntil(offered(combo).isVisible, timeout=WAIT_MS)
    qtbot.keyClick(offered(combo), Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not offered(combo).isVisible(), timeout=WAIT_MS)
    combo.clearFocus()
    QApplication.processEvents()
    assert picked == [] and combo.currentText() == "Game C"


@pytest.mark.parametrize("typed", ["q", "game"])
@pytest.mark.parametrize("is_clicked", [True, False])
def test_the_list_is_as_high_as_its_lines(
    qtbot: QtBot, combo: SearchCombo, typed: str, is_clicked: bool
) -> None:
    edit, view = edit_of(combo), offered(combo)
    if is_clicked:
        qtbot.mouseClick(edit, LEFT, pos=QPoint(30, 10))
        qtbot.waitUntil(view.isVisible, timeout=WAIT_MS)
    else:
        edit.setFocus()
        edit.selectAll()
    qtbot.keyClicks(view if is_clicked else edit, typed)
    qtbot.waitUntil(view.isVisible, timeout=WAIT_MS)
    shown = min(len(lines(combo)), combo.maxVisibleItems())
    qtbot.waitUntil(
        lambda: view.viewport().height() == shown * view.sizeHintForRow(0), timeout=WAIT_MS
    )
