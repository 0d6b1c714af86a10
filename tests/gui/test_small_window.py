"""A window beside an editor: nothing is lost in it, and nothing is cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.exceptions import TimeoutError
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.shell.folding import Side
from mosaic.gui.state.targets import FormTarget, Mode, Operation, Page, PlayTarget
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.gui.conftest import WAIT_MS
from tests.gui.cut_off import cut_off
from tests.gui.workflow_steps import Person, somebody
from tests.registry_samples import new_run

WIDE, SMALL, ZOOMED = (1280, 800), (900, 700), (853, 533)


def resize(qtbot: QtBot, application: Application, size: tuple[int, int]) -> None:
    application.window.resize(*size)
    qtbot.waitUntil(lambda: application.window.size().toTuple() == size, timeout=WAIT_MS)


@pytest.fixture
def small(qtbot: QtBot, lonely: Application) -> Application:
    lonely.window.activateWindow()
    qtbot.waitUntil(lonely.window.isActiveWindow, timeout=WAIT_MS)
    resize(qtbot, lonely, SMALL)
    return lonely


def test_it_fits_beside_an_editor(small: Application) -> None:
    least = small.window.minimumSize()
    assert least.width() <= 900 and least.height() <= 533
    needed = small.window.minimumSizeHint()
    assert needed.width() <= least.width() and needed.height() <= least.height()


def test_form_and_run_take_turns_until_there_is_room_again(
    qtbot: QtBot, small: Application
) -> None:
    window = small.window
    assert window.launch_panel.isVisible() and not window.tabs_panel.isVisible()
    qtbot.mouseClick(window.folding.side.switch.button(Side.RUN), Qt.MouseButton.LeftButton)
    assert window.tabs_panel.isVisible() and not window.launch_panel.isVisible()
    resize(qtbot, small, WIDE)
    assert window.launch_panel.isVisible() and window.tabs_panel.isVisible()
    assert not window.folding.side.switch.isVisible()


def test_what_is_asked_for_is_what_is_seen(small: Application) -> None:
    window, state = small.window, small.state
    runs = [new_run("a").record, new_run("b").record]
    state.runs.update(runs)
    state.select([runs[0].run_id])
    assert window.launch_panel.isVisible(), "the window itself selected the first one"
    state.select([runs[1].run_id])
    assert window.tabs_panel.isVisible()
    state.ask_form(FormTarget(Operation.TRAIN))
    assert window.launch_panel.isVisible()
    state.ask_tab("charts")
    assert window.tabs_panel.isVisible()


def test_the_keys_of_the_panels_turn_to_them_or_hide_them(qtbot: QtBot, small: Application) -> None:
    window, commands = small.window, small.workbench.commands
    control, alt = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.AltModifier
    window.setFocus()
    qtbot.keyClick(window, Qt.Key.Key_B, control | alt)
    assert window.tabs_panel.isVisible()
    assert commands["view.dock.run"].isChecked() and not commands["view.dock.agent"].isChecked()
    qtbot.keyClick(window, Qt.Key.Key_B, control | alt)
    assert not window.tabs_panel.isVisible() and not window.launch_panel.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_B, control)
    assert window.launch_panel.isVisible()


def test_a_window_closed_while_narrow_opens_with_all_its_panels(
    qtbot: QtBot, tmp_path: Path, open_application: Callable[[Home], Application]
) -> None:
    first = open_application(Home(tmp_path))
    resize(qtbot, first, SMALL)
    first.close()
    second = open_application(Home(tmp_path))
    resize(qtbot, second, WIDE)
    assert second.window.launch_panel.isVisible() and second.window.tabs_panel.isVisible()


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture
def person(qtbot: QtBot, application: Application) -> Person:
    return somebody(qtbot, application)


@pytest.mark.parametrize("size", [SMALL, ZOOMED])
def test_nothing_is_cut_off(person: Person, daemon: DaemonHarness, size: tuple[int, int]) -> None:
    problems: list[str] = []

    def look(where: str) -> None:
        found: list[str] = []

        def is_whole() -> bool:
            found[:] = cut_off(person.window)  # a layout may be on its way
            return not found

        try:
            person.see(is_whole, WAIT_MS)
        except TimeoutError:
            problems.extend(f"{where}: {problem}" for problem in found)

    done = daemon.submit(run_name="a run with a name that is much longer than its place " * 2)
    daemon.wait_over(done)
    failed = daemon.submit_script("exits_with", "3", run_name="failed")
    daemon.wait_over(failed)
    other = daemon.submit(run_name="other")
    daemon.wait_over(other)
    resize(person.qtbot, person.application, size)
    person.choose("View", "Welcome")
    look("welcome")
    for mode in Mode:
        person.state.set_mode(mode)
        look(mode.value)
    for worker in ("cleanrl", "baseline", "script"):
        roster = person.launch.roster
        if not roster.row(worker).isVisible():
            person.click(roster.unfold)
        person.click(roster.row(worker))
        look(worker)
    panel = person.window.tabs_panel
    for run_id in (done, failed):
        person.select_run(run_id)
        person.see_details()
        person.state.show_page(Page.LIVE)
        for number, tab_id in enumerate(panel.tab_ids):
            panel.show_nth(number)
            person.see(lambda tab_id=tab_id: panel.current_id == tab_id)  # type: ignore[misc]
            look(tab_id)
    person.runs.show_logs(True)
    look("logs")
    person.runs.show_logs(False)
    person.state.compare([failed, other])
    look("compare")
    for command in ("help.palette", "help.shortcuts", "help.about"):
        person.application.workbench.commands.trigger(command)
        look(command)
        person.press(Qt.Key.Key_Escape)
    person.state.show_play(PlayTarget("CartPole-v1", Mode.HUMAN))
    look("play")
    assert not problems, "\n".join(problems)
