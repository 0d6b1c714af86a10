"""Ctrl + and Ctrl − draw the whole interface larger or smaller."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.services.session import window_settings
from mosaic.gui.shell import zoom
from mosaic.gui.shell.zoom import scaled_start
from tests.gui.conftest import WAIT_MS
from tests.gui.cut_off import cut_off

CONTROL = Qt.KeyboardModifier.ControlModifier
Key = Qt.Key


@pytest.fixture
def shown(qtbot: QtBot, lonely: Application) -> Iterator[Application]:
    lonely.window.activateWindow()
    qtbot.waitUntil(lonely.window.isActiveWindow, timeout=WAIT_MS)
    yield lonely
    lonely.window.window_commands.zoom.set_percent(100)
    qtbot.waitUntil(lambda: lonely.window.devicePixelRatioF() == 1, timeout=WAIT_MS)


def press(qtbot: QtBot, application: Application, key: Qt.Key) -> None:
    window = application.window
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
    qtbot.keyClick(QApplication.focusWidget() or window, key, CONTROL)


def test_everything_is_drawn_larger_and_nothing_is_cut_off(
    qtbot: QtBot, shown: Application
) -> None:
    window = shown.window
    before = window.size()
    for key in (Key.Key_Plus, Key.Key_Equal, Key.Key_Plus, Key.Key_Plus):  # 110, 125, 150, 175
        press(qtbot, shown, key)
    press(qtbot, shown, Key.Key_Minus)
    qtbot.waitUntil(lambda: window.devicePixelRatioF() == 1.5, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: abs(window.width() - before.width() / 1.5) < 2, timeout=WAIT_MS)
    assert abs(window.grab().width() - before.width()) < 4, "as large on the screen as before"
    assert "150 %" in window.snackbar.notice.text if window.snackbar.notice else False
    window.snackbar.dismiss()
    qtbot.waitUntil(lambda: not cut_off(window), timeout=WAIT_MS)
    assert window_settings(shown.workbench.home).value("zoom") in (150, "150")
    press(qtbot, shown, Key.Key_0)
    qtbot.waitUntil(lambda: window.size() == before, timeout=WAIT_MS)


def test_it_ends_at_the_largest_and_says_so(shown: Application) -> None:
    commands, own_zoom = shown.workbench.commands, shown.window.window_commands.zoom
    for _ in range(20):
        commands.trigger("view.zoom.larger")
    assert own_zoom.percent == 200
    assert commands.problem_of("view.zoom.larger") == "it is at 200 % already"
    commands.trigger("view.zoom.usual")
    assert not commands.problem_of("view.zoom.larger")


def test_it_is_remembered_and_programs_started_later_know_nothing_of_it(
    shown: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QT_SCALE_FACTOR", raising=False)
    settings = window_settings(shown.workbench.home)
    settings.setValue("zoom", 125)
    with scaled_start(settings):
        assert os.environ["QT_SCALE_FACTOR"] == "1.25"
    assert "QT_SCALE_FACTOR" not in os.environ


@pytest.fixture
def without_the_function(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As in a Qt that does not export it: looked for in the same way, and not found."""
    monkeypatch.setattr(zoom, "_FUNCTION", "_ZN15QHighDpiScaling19notExportedAnyMoreEd")
    zoom._set_factor.cache_clear()
    yield
    zoom._set_factor.cache_clear()


@pytest.mark.usefixtures("without_the_function")
def test_where_qt_cannot_change_it_the_new_size_comes_with_the_next_start(
    qtbot: QtBot, lonely: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QT_SCALE_FACTOR", raising=False)
    lonely.window.activateWindow()
    qtbot.waitUntil(lonely.window.isActiveWindow, timeout=WAIT_MS)
    before = lonely.window.size()
    press(qtbot, lonely, Key.Key_Plus)
    notice = lonely.window.snackbar.notice
    assert notice is not None
    assert notice.text == "At 110 % from the next start on: this Qt cannot change it while it runs"
    assert lonely.window.devicePixelRatioF() == 1 and lonely.window.size() == before
    settings = window_settings(lonely.workbench.home)
    with scaled_start(settings):
        assert os.environ["QT_SCALE_FACTOR"] == "1.1"
    press(qtbot, lonely, Key.Key_0)
    notice = lonely.window.snackbar.notice
    assert notice is not None and notice.text == "The interface is drawn at 100 %"
    with scaled_start(settings):
        assert "QT_SCALE_FACTOR" not in os.environ
