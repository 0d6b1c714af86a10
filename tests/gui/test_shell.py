"""The window around the panels: menus, keys, palette, overlays, theme."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QCursor, QHelpEvent
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QLineEdit, QToolTip
from pytestqt.qtbot import QtBot

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.errors import ConfigError
from mosaic.gui.application import Application
from mosaic.gui.services.unexpected_errors import UnexpectedErrors
from mosaic.gui.services.workbench import MENUS
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import FormTarget, Page
from mosaic.gui.widgets.roles import eliding_label
from mosaic.paths import Home
from tests.gui.conftest import WAIT_MS
from tests.registry_samples import new_run

ENVIRONMENT = EnvironmentInfo(
    "Lake-v1", "toy_text", "a lake", "Discrete(16)", "Discrete(4)", "discrete", "vector"
)


@pytest.fixture
def shown(qtbot: QtBot, lonely: Application) -> Application:
    """Keys reach a window only when it is the active one."""
    lonely.window.activateWindow()
    qtbot.waitUntil(lonely.window.isActiveWindow, timeout=WAIT_MS)
    return lonely


def over_run(name: str) -> RunRecord:
    return replace(new_run(name).record, state=RunState.TERM, outcome=Outcome.SUCCEEDED)


def titles(application: Application, menu: str) -> list[str]:
    return [action.text() for action in application.window.menus[menu].actions() if action.text()]


def test_every_menu_has_its_commands(lonely: Application) -> None:
    assert {"Import archive…", "Open home folder", "Quit"} <= set(titles(lonely, "File"))
    assert {"Welcome", "Full screen render", "Dark theme"} <= set(titles(lonely, "View"))
    assert {"Keyboard shortcuts", "Doctor", "About MOSAIC"} <= set(titles(lonely, "Help"))


def test_a_command_that_comes_later_is_in_its_menu_too(lonely: Application) -> None:
    heard: list[str] = []
    lonely.workbench.commands.add("compare.late", "Late", lambda: heard.append("x"), menu="Compare")
    assert "Late" in titles(lonely, "Compare")
    assert lonely.window.menus["Compare"].menuAction().isVisible()
    next(a for a in lonely.window.menus["Compare"].actions() if a.text() == "Late").trigger()
    assert heard == ["x"]


def test_no_two_commands_have_the_same_keys(lonely: Application) -> None:
    keys = [
        action.shortcut().toString() for action in lonely.workbench.commands if action.shortcut()
    ]
    used = [text for text in keys if text]
    assert len(used) == len(set(used)), sorted(text for text in used if used.count(text) > 1)


def test_docks_are_hidden_and_shown_by_keys(qtbot: QtBot, shown: Application) -> None:
    window = shown.window
    action = shown.workbench.commands["view.dock.agent"]
    assert window.launch_dock.isVisible() and action.isChecked()
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert not window.launch_dock.isVisible() and not action.isChecked()
    qtbot.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    assert window.launch_dock.isVisible() and action.isChecked()


def test_f_shows_the_centre_alone_and_esc_brings_the_rest_back(
    qtbot: QtBot, shown: Application
) -> None:
    window = shown.window
    window.runs_dock.toggleViewAction().trigger()
    window.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_F)
    assert window.isFullScreen()
    assert not window.launch_dock.isVisible() and not window.menuBar().isVisible()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.isFullScreen()
    assert window.launch_dock.isVisible() and window.menuBar().isVisible()
    assert not window.runs_dock.isVisible()  # as it was before


def test_a_window_closed_in_full_screen_opens_with_its_docks(
    tmp_path: Path, open_application: Callable[[Home], Application]
) -> None:
    first = open_application(Home(tmp_path))
    first.workbench.commands.trigger("view.page.full_screen")
    first.close()
    second = open_application(Home(tmp_path))
    assert second.window.launch_dock.isVisible() and not second.window.isFullScreen()


def test_letters_are_typed_not_obeyed_in_a_text_field(qtbot: QtBot, shown: Application) -> None:
    field = QLineEdit(shown.window)
    field.show()
    field.setFocus()
    qtbot.keyClicks(field, "f?")
    assert field.text() == "f?"
    assert not shown.window.isFullScreen()
    assert not shown.window.shortcuts_overlay.isVisible()


def test_the_theme_is_chosen_in_the_menu_and_kept(
    tmp_path: Path, qapp: QApplication, open_application: Callable[[Home], Application]
) -> None:
    home = Home(tmp_path)
    first = open_application(home)
    first.workbench.commands.trigger("view.theme.light")
    assert not first.theme.is_dark
    checked = [
        name
        for name in ("system", "dark", "light")
        if first.workbench.commands[f"view.theme.{name}"].isChecked()
    ]
    assert checked == ["light"]
    first.close()
    second = Application(qapp, home, lambda: AsyncTrainerClient(home, autostart=False))
    try:
        assert second.theme.name == "light"
        assert second.workbench.commands["view.theme.light"].isChecked()
        second.workbench.commands.trigger("view.theme.dark")
        assert second.theme.is_dark
    finally:
        second.close()


def test_question_mark_shows_all_keys_and_esc_gives_the_focus_back(
    qtbot: QtBot, shown: Application
) -> None:
    window, overlay = shown.window, shown.window.shortcuts_overlay
    window.header.search_button.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_Question)
    assert overlay.isVisible() and overlay.geometry() == window.rect()
    qtbot.keyClick(overlay, Qt.Key.Key_F)  # the window below does not hear it
    assert not window.isFullScreen()
    qtbot.keyClick(overlay, Qt.Key.Key_Escape)
    assert not overlay.isVisible()
    assert window.header.search_button.hasFocus()


def test_a_click_beside_the_card_closes_it(qtbot: QtBot, shown: Application) -> None:
    shown.workbench.commands.trigger("help.about")
    overlay = shown.window.about_overlay
    qtbot.mouseClick(overlay, Qt.MouseButton.LeftButton, pos=overlay.card.geometry().center())
    assert overlay.isVisible()
    qtbot.mouseClick(overlay, Qt.MouseButton.LeftButton, pos=QPoint(4, 4))
    assert not overlay.isVisible()


def open_palette(qtbot: QtBot, application: Application) -> None:
    qtbot.keyClick(application.window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    assert application.window.palette_overlay.isVisible()


def test_the_palette_runs_a_command(qtbot: QtBot, shown: Application) -> None:
    open_palette(qtbot, shown)
    palette = shown.window.palette_overlay
    assert palette.field.hasFocus()
    qtbot.keyClicks(palette.field, "about")
    assert palette.shown[0].title == "About MOSAIC"
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert not palette.isVisible()
    qtbot.waitUntil(shown.window.about_overlay.isVisible, timeout=WAIT_MS)


def test_the_palette_selects_a_run(qtbot: QtBot, shown: Application) -> None:
    first, second = new_run("alpha").record, new_run("beta").record
    shown.state.runs.update([first, second])
    open_palette(qtbot, shown)
    palette = shown.window.palette_overlay
    qtbot.keyClicks(palette.field, "alpha")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: shown.state.selection == (first.run_id,), timeout=WAIT_MS)
    assert shown.state.page is Page.LIVE


def test_the_palette_chooses_an_environment_with_the_arrows(
    qtbot: QtBot, shown: Application
) -> None:
    shown.state.set_catalogue([], [ENVIRONMENT])
    open_palette(qtbot, shown)
    palette = shown.window.palette_overlay
    qtbot.keyClick(palette.field, Qt.Key.Key_Up)  # from the first to the last
    assert palette.list.currentIndex().row() == len(palette.shown) - 1
    qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    assert palette.list.currentIndex().row() == 0
    qtbot.keyClicks(palette.field, "lake")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: shown.state.env_id == "Lake-v1", timeout=WAIT_MS)


def test_the_palette_fills_the_form_with_an_algorithm(qtbot: QtBot, shown: Application) -> None:
    asked: list[FormTarget] = []
    shown.state.form_asked.connect(asked.append)
    shown.state.set_catalogue([AlgorithmInfo("zigzag", "some", "turns around")], [])
    open_palette(qtbot, shown)
    qtbot.keyClicks(shown.window.palette_overlay.field, "zigzag")
    qtbot.keyClick(shown.window.palette_overlay.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(asked), timeout=WAIT_MS)
    assert asked[0].values == {"algo": "zigzag"}


def test_the_palette_gives_the_focus_back(qtbot: QtBot, shown: Application) -> None:
    shown.window.header.search_button.setFocus()
    qtbot.mouseClick(shown.window.header.search_button, Qt.MouseButton.LeftButton)
    palette = shown.window.palette_overlay
    assert palette.field.hasFocus()
    qtbot.keyClick(palette.field, Qt.Key.Key_Tab)
    assert palette.field.hasFocus()  # the keyboard stays on the card
    qtbot.keyClicks(palette.field, "nothing is like this")
    assert palette.shown == []
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert palette.isVisible()
    qtbot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert not palette.isVisible() and shown.window.header.search_button.hasFocus()


def test_the_palette_says_why_something_is_not_possible_now(
    qtbot: QtBot, shown: Application
) -> None:
    over = over_run("alpha")
    shown.state.runs.update([over])
    shown.state.select([over.run_id])
    said: list[Notice] = []
    shown.state.said.connect(said.append)
    open_palette(qtbot, shown)
    palette = shown.window.palette_overlay
    qtbot.keyClicks(palette.field, "pause")
    (item,) = [item for item in palette.shown if item.key == "run.pause"]
    assert item.problem == "alpha is over"
    place = palette.shown.index(item)
    told = palette.model.index(place).data(Qt.ItemDataRole.AccessibleTextRole)
    assert "not possible now: alpha is over" in told
    for _ in range(place):
        qtbot.keyClick(palette.field, Qt.Key.Key_Down)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: bool(said), timeout=WAIT_MS)
    assert said[0].text == "Pause: alpha is over"


def test_question_mark_lists_the_keys_of_replay_and_play(qtbot: QtBot, shown: Application) -> None:
    shown.workbench.commands.trigger("help.shortcuts")
    words = {item.text() for item in shown.window.shortcuts_overlay.findChildren(QLabel)}
    assert {"Replay", "Play", "Play in a loop", "Take over from the policy, hand back"} <= words
    assert {"Space", "Esc Esc", "L"} <= words


def test_escape_closes_one_thing_at_a_time_and_keeps_the_selection(
    qtbot: QtBot, shown: Application
) -> None:
    window, state = shown.window, shown.state
    run = over_run("alpha")
    state.runs.update([run])
    state.select([run.run_id])
    state.compare([run.run_id])
    state.say(Notice("something", seconds=0))
    window.runs_panel.table.setFocus()
    shown.workbench.commands.trigger("help.palette")
    closed: list[Callable[[], bool]] = [
        lambda: not window.palette_overlay.isVisible(),
        lambda: state.page is Page.LIVE,
        lambda: not window.snackbar.isVisible(),
        lambda: True,
    ]
    for number, is_closed in enumerate(closed):
        assert number == len(closed) - 1 or not is_closed()
        qtbot.keyClick(QApplication.focusWidget() or window, Qt.Key.Key_Escape)
        assert is_closed(), number
        assert state.selection == (run.run_id,)


def test_choosing_a_file_does_not_block(qtbot: QtBot, shown: Application) -> None:
    shown.workbench.commands.trigger("file.import")
    (dialog,) = shown.window.findChildren(QFileDialog)
    assert dialog.isVisible()
    dialog.reject()
    qtbot.waitUntil(lambda: not shown.window.findChildren(QFileDialog), timeout=WAIT_MS)


def test_an_unexpected_error_is_told_and_the_window_stays(
    qtbot: QtBot, lonely: Application
) -> None:
    said: list[Notice] = []
    lonely.state.said.connect(said.append)
    lonely.state.tab_asked.connect(_divide_by_zero)
    errors = UnexpectedErrors(lonely.state, "the.log")
    failures: tuple[Callable[[], object], ...] = (lambda: lonely.state.ask_tab("x"), _refuse)
    for fail in failures:
        try:
            fail()
        except Exception as error:  # noqa: BLE001 (as Python hands it to the hook)
            errors.take(type(error), error, error.__traceback__)
    qtbot.waitUntil(lambda: len(said) == 2, timeout=WAIT_MS)
    assert "ZeroDivisionError: division by zero. " in said[0].text and "the.log" in said[0].text
    assert said[1].text == "No. Say yes"
    assert lonely.window.isVisible()


def _divide_by_zero(tab_id: str) -> None:
    print(1 / 0)


def _refuse() -> None:
    raise ConfigError("No", hint="say yes")


def test_all_menus_are_made_once(lonely: Application) -> None:
    assert [action.text() for action in lonely.window.menuBar().actions()] == list(MENUS)


def test_a_tool_tip_is_above_its_control_and_lets_clicks_through(
    qtbot: QtBot, shown: Application
) -> None:
    button = shown.window.runs_panel.logs_button
    middle = button.mapToGlobal(button.rect().center())
    QCursor.setPos(middle)
    QToolTip.showText(middle, "what it is for", button)
    (tip,) = [item for item in QApplication.topLevelWidgets() if item.inherits("QTipLabel")]
    qtbot.waitUntil(tip.isVisible, timeout=WAIT_MS)
    corner = button.mapToGlobal(QPoint(0, 0))
    qtbot.waitUntil(lambda: tip.geometry().bottom() < corner.y(), timeout=WAIT_MS)
    assert tip.windowFlags() & Qt.WindowType.WindowTransparentForInput
    QToolTip.hideText()


def test_a_long_title_ends_with_dots_and_is_whole_in_its_tool_tip(
    qtbot: QtBot, shown: Application
) -> None:
    whole = "a run with a name that is longer than any place it could ever have " * 4
    found = eliding_label(whole)
    qtbot.addWidget(found)
    found.resize(200, 20)
    found.show()
    assert QLabel.text(found).endswith("…") and found.accessibleName() == whole
    middle = found.rect().center()
    event = QHelpEvent(QEvent.Type.ToolTip, middle, found.mapToGlobal(middle))
    QApplication.sendEvent(found, event)
    assert QToolTip.text() == whole
    found.resize(5000, 20)
    assert not found.is_cut
    QToolTip.hideText()
