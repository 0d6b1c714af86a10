"""What is done with runs: pause, resubmit, delete and undo, archive, and a run that fails."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.run_config.tab import ConfigTab
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.state.targets import Page
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.gui.workflow_steps import CONTROL, Person, somebody

ENDLESS = {"episodes": 1_000_000, "max_steps_per_second": 200.0}
Key = Qt.Key


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture
def person(qtbot: QtBot, application: Application) -> Person:
    return somebody(qtbot, application)


def finished(person: Person, daemon: DaemonHarness, name: str) -> str:
    run_id = daemon.submit(run_name=name)
    person.see_state(run_id, "succeeded")
    return run_id


def test_a_run_is_paused_goes_on_and_is_stopped_with_a_reason(
    person: Person, daemon: DaemonHarness
) -> None:
    run_id = daemon.submit(run_name="endless", config=ENDLESS)
    person.select_run(run_id)
    person.see_state(run_id, "running")
    person.press(Key.Key_P, CONTROL)
    person.see_state(run_id, "paused")
    person.choose("Run", "Continue")
    person.see_state(run_id, "running")
    person.choose("Run", "Stop with reason…")
    popup = person.runs.commands.stop_reason
    person.see(popup.isVisible)
    person.write(popup.line, "seen enough")
    person.click(popup.button)
    person.see_state(run_id, "canceled")
    assert "seen enough" in str(daemon.client.get_run(run_id))


def test_a_run_is_stopped_by_the_picture_in_its_row(person: Person, daemon: DaemonHarness) -> None:
    run_id = daemon.submit(run_name="row", config=ENDLESS)
    person.see(lambda: person.row(run_id) is not None)
    person.see_state(run_id, "running")
    person.click_in_row(run_id, 1)
    person.see_state(run_id, "canceled")


def test_a_run_is_submitted_once_more(person: Person, daemon: DaemonHarness) -> None:
    run_id = finished(person, daemon, "again")
    person.select_run(run_id)
    known = person.known_runs
    person.choose("Run", "Resubmit")
    again = person.see_new_run(known)
    person.see_state(again, "succeeded")
    assert daemon.client.get_run(again).config == daemon.client.get_run(run_id).config


def test_a_deleted_run_comes_back_with_undo(person: Person, daemon: DaemonHarness) -> None:
    run_id = finished(person, daemon, "deleted")
    person.select_run(run_id)
    person.qtbot.keyClick(person.runs.table, Key.Key_Delete)
    person.see(lambda: person.row(run_id) is None)
    person.see_notice("1 run deleted")
    undo = person.window.snackbar.action_button
    assert undo.text() == "Undo"
    person.click(undo)
    person.see(lambda: person.selected == [run_id])
    person.see_state(run_id, "succeeded")


def test_a_run_is_archived_into_a_file(
    person: Person, daemon: DaemonHarness, tmp_path: Path
) -> None:
    run_id = finished(person, daemon, "kept")
    person.select_run(run_id)
    person.choose("Run", "Archive…")
    person.save_as(tmp_path / "kept")
    archive = tmp_path / "kept.mosaic.zip"
    person.see(archive.exists)
    person.see_notice("Archived as kept.mosaic.zip")
    assert zipfile.is_zipfile(archive)


def test_the_config_of_a_run_is_one_command_away(person: Person, daemon: DaemonHarness) -> None:
    run_id = finished(person, daemon, "configured")
    person.select_run(run_id)
    person.choose("Run", "Open config")
    person.see(lambda: person.window.tabs_panel.current_id == "config")
    tab = person.window.tabs_panel.tab("config")
    assert isinstance(tab, ConfigTab)
    person.see(lambda: tab.tree.isVisible())
    person.click(tab.which.button("json"))
    person.see(lambda: '"run_name": "configured"' in tab.json.toPlainText())


def test_a_script_that_fails_says_why_and_what_to_do(person: Person, tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(
        "import sys\nprint('learning rate is a word', file=sys.stderr)\nsys.exit(3)\n"
    )
    person.click(person.launch.roster.row("script"))
    command = person.field("command").editor
    assert isinstance(command, QPlainTextEdit)
    person.click(command)
    person.qtbot.keyClicks(command, "python bad.py")
    folder = person.field("cwd").editor.focusProxy()
    assert isinstance(folder, QLineEdit)
    person.write(folder, str(tmp_path))
    known = person.known_runs
    person.start()
    question = person.window.consent_overlay
    person.see(question.isVisible)
    assert "python bad.py" in question.lines.toPlainText()
    person.click(question.yes)
    run_id = person.see_new_run(known)
    person.see_state(run_id, "failed")
    card = person.window.stage.outcome.failure_card
    person.see(card.isVisible)
    person.see(lambda: "3" in card.happened.text())
    assert card.advice.text()
    person.click(card.log_button)
    drawer = person.runs.log_drawer
    person.see(lambda: "learning rate is a word" in drawer.view.toPlainText())
    assert drawer.isVisible() and person.runs.logs_button.isChecked()


def test_the_palette_finds_a_run(person: Person, daemon: DaemonHarness) -> None:
    run_id = finished(person, daemon, "needle")
    finished(person, daemon, "haystack")
    person.see(lambda: person.row(run_id) is not None)
    person.press(Key.Key_K, CONTROL)
    palette = person.window.palette_overlay
    person.see(lambda: palette.isVisible() and palette.field.hasFocus())
    person.qtbot.keyClicks(palette.field, "needle")
    assert "needle" in palette.shown[0].title
    person.press(Key.Key_Return)
    person.see(lambda: person.selected == [run_id])
    assert not palette.isVisible() and person.state.page is Page.LIVE


def test_the_filter_leaves_what_matches(person: Person, daemon: DaemonHarness) -> None:
    run_id = finished(person, daemon, "filtered-one")
    person.see(lambda: person.row(run_id) is not None)
    person.press(Key.Key_F, CONTROL)
    assert person.runs.filter_field.hasFocus()
    person.qtbot.keyClicks(person.runs.filter_field, "filtered-one")
    person.see(lambda: person.runs.model.run_ids == [run_id])
    assert person.cell(run_id, Column.NAME)
    person.press(Key.Key_Escape)
    assert person.runs.filter_field.text() == ""
