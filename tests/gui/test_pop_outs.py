"""Views in windows of their own: they stay live, and come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.gui.application import Application
from mosaic.gui.shell.pop_outs import CENTRE, PoppedWindow
from mosaic.gui.state.targets import Page
from mosaic.paths import Home
from tests.gui.conftest import WAIT_MS
from tests.gui.keyboard_walk import nameless
from tests.registry_samples import new_run

LEFT = Qt.MouseButton.LeftButton


def show_run(application: Application, name: str) -> RunRecord:
    record = replace(
        new_run(name).record, state=RunState.TERM, outcome=Outcome.SUCCEEDED, started_at=1.0
    )
    application.state.runs.update([record])
    application.state.select([record.run_id])
    application.state.set_details(record)
    return record


def popped(application: Application, key: str) -> PoppedWindow:
    window = application.window.pop_outs.window(key)
    assert window is not None and window.isVisible()
    return window


@pytest.fixture
def shown(qtbot: QtBot, lonely: Application) -> Application:
    lonely.window.activateWindow()
    qtbot.waitUntil(lonely.window.isActiveWindow, timeout=WAIT_MS)
    show_run(lonely, "alpha")
    return lonely


def test_a_tab_goes_out_follows_the_selection_and_comes_back(
    qtbot: QtBot, shown: Application
) -> None:
    panel = shown.window.tabs_panel
    panel.show_tab("config")
    qtbot.mouseClick(panel.bar.pop_button, LEFT)
    window, tab = popped(shown, "config"), panel.tab("config")
    assert tab is not None and tab.window() is window and tab.isVisible()
    assert "config" not in panel.bar.ids and panel.current_id != "config"
    assert window.windowTitle() == "Config · alpha · MOSAIC"
    show_run(shown, "beta")
    assert window.windowTitle() == "Config · beta · MOSAIC"
    assert not nameless(window)
    qtbot.mouseClick(window.dock_button, LEFT)
    assert tab.window() is shown.window and tab.isVisible()
    assert panel.current_id == "config"
    assert shown.window.pop_outs.keys == ()


def test_a_tab_that_is_asked_for_is_shown_where_it_is(shown: Application) -> None:
    panel = shown.window.tabs_panel
    panel.show_tab("config")
    panel.pop_out()
    before = panel.current_id
    shown.state.ask_tab("config")
    assert panel.current_id == before and popped(shown, "config")


def test_the_last_tab_leaves_a_sentence_behind(shown: Application) -> None:
    panel = shown.window.tabs_panel
    for _ in panel.tab_ids:
        panel.pop_out()
    assert panel.bar.ids == () and not panel.current_id
    assert shown.workbench.commands.problem_of("view.window.tab")
    shown.workbench.commands.trigger("view.window.dock")
    assert set(panel.bar.ids) == set(panel.tab_ids)


def test_keys_and_escape_work_in_the_window_of_the_centre(qtbot: QtBot, shown: Application) -> None:
    state, commands = shown.state, shown.workbench.commands
    commands.trigger("view.window.centre")
    window = popped(shown, CENTRE)
    assert shown.window.stage.window() is window and commands["view.window.centre"].isChecked()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=WAIT_MS)
    state.compare(state.selection)
    window.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert state.page is Page.LIVE
    qtbot.keyClick(window, Qt.Key.Key_F)
    assert window.isFullScreen() and not shown.window.isFullScreen()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isFullScreen() and window.isVisible()
    window.close()
    assert shown.window.stage.isVisible() and shown.window.stage.window() is shown.window
    assert not commands["view.window.centre"].isChecked()


def test_what_was_out_is_out_when_the_program_starts_again(
    qtbot: QtBot, tmp_path: Path, open_application: Callable[[Home], Application]
) -> None:
    first = open_application(Home(tmp_path))
    show_run(first, "alpha")
    first.window.tabs_panel.show_tab("config")
    first.window.tabs_panel.pop_out()
    first.workbench.commands.trigger("view.window.centre")
    popped(first, "config").resize(500, 400)
    first.close()
    assert not [
        item
        for item in QApplication.topLevelWidgets()
        if isinstance(item, PoppedWindow) and item.isVisible()
    ]
    second = open_application(Home(tmp_path))
    assert popped(second, CENTRE)
    assert second.window.pop_outs.window("config") is None, "no run has it yet"
    show_run(second, "alpha")
    assert popped(second, "config").size().toTuple() == (500, 400)
