"""Runs are told apart: one name everywhere, labels in step, and nothing deleted is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mosaic.cli.main import main
from mosaic.contracts.run_labels import LabelChange
from mosaic.gui.application import Application
from mosaic.gui.charts.model.runs import looks_of
from mosaic.gui.compare.page import ComparePage
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.shell.model.palette_search import PaletteKind, palette_items
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.targets import Page
from mosaic.gui.trash.page import TrashPage
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness, run_document
from tests.gui.conftest import WAIT_MS

NAMES = ["ours", "ours#2", "ours#3"]


@pytest.fixture
def alike(daemon: DaemonHarness) -> list[str]:
    """Three runs that were submitted under one name; the oldest first."""
    runs = [daemon.client.submit(run_document(run_name="ours")).run_id for _ in NAMES]
    for run in runs:
        daemon.wait_over(run)
    return runs


def see_runs(qtbot: QtBot, application: Application, count: int) -> None:
    model = application.window.runs_panel.model
    qtbot.waitUntil(lambda: model.rowCount() == count, timeout=WAIT_MS)


def test_a_run_has_one_name_everywhere(
    qtbot: QtBot,
    daemon: DaemonHarness,
    alike: list[str],
    application: Application,
    capsys: pytest.CaptureFixture[str],
) -> None:
    see_runs(qtbot, application, len(alike))
    state, panel = application.state, application.window.runs_panel
    for run, name in zip(alike, NAMES, strict=True):
        place = panel.model.place(run)
        assert place is not None
        assert panel.model.data(panel.model.index(place, Column.NAME)) == name
    items = palette_items(state, [])
    found = {item.key: item.title for item in items if item.kind is PaletteKind.RUN}
    assert found == dict(zip(alike, NAMES, strict=True))
    state.select(alike)
    looks = looks_of(state.selection, state.runs, state.colours)
    assert [look.name for look in looks] == NAMES
    state.compare(alike)
    page = application.window.stage.page(Page.COMPARE)
    assert isinstance(page, ComparePage)
    assert page.chips.names == NAMES

    def said(*words: str) -> str:
        assert main(["--home", str(daemon.home.root), *words]) == 0
        return capsys.readouterr().out

    listed = said("runs")
    assert all(name in listed for name in NAMES)
    assert alike[1] in said("show", "ours#2") and said("show", "ours#2").startswith("ours#2")
    assert "pinned ours#3" in said("pin", "ours#3")


def test_what_one_window_names_another_shows(
    qtbot: QtBot,
    daemon: DaemonHarness,
    alike: list[str],
    application: Application,
    open_application: Callable[[Home], Application],
) -> None:
    other = open_application(daemon.home)
    other.start()
    for window in (application, other):
        see_runs(qtbot, window, len(alike))
    application.state.select((alike[1],))
    application.workbench.commands.trigger(RunAction.RENAME)
    field = application.window.runs_panel.table.rename_field
    assert field.isVisible() and field.text() == "ours#2"
    QTest.keyClicks(field, "the good one")
    # Rows come and go while somebody types.
    application.window.runs_panel.model.sort(Column.NAME)
    assert field.isVisible() and field.text() == "the good one"
    QTest.keyClick(field, Qt.Key.Key_Return)

    def name_of(window: Application) -> str:
        record = window.state.runs.get(alike[1])
        return record.run_name if record else ""

    qtbot.waitUntil(
        lambda: {name_of(application), name_of(other)} == {"the good one"}, timeout=WAIT_MS
    )
    daemon.client.label_run(alike[1], LabelChange(add_tags=("best",), note="look at its curve"))

    def has_tag() -> bool:
        record = other.state.runs.get(alike[1])
        return record is not None and record.tags == ("best",)

    qtbot.waitUntil(has_tag, timeout=WAIT_MS)
    panel = other.window.runs_panel
    panel.filter_field.setText("tag:best curve")
    qtbot.waitUntil(lambda: panel.model.run_ids == [alike[1]], timeout=WAIT_MS)


def test_a_name_that_is_taken_is_said_and_can_be_undone(
    qtbot: QtBot, alike: list[str], application: Application
) -> None:
    see_runs(qtbot, application, len(alike))
    application.workbench.run_actions.rename(alike[2], "ours#2")
    bar = application.window.snackbar
    qtbot.waitUntil(
        lambda: bar.notice is not None and "is now called ours#2#2" in bar.notice.text,
        timeout=WAIT_MS,
    )
    bar.action_button.click()

    def is_undone() -> bool:
        record = application.state.runs.get(alike[2])
        return record is not None and record.run_name == "ours#3"

    qtbot.waitUntil(is_undone, timeout=WAIT_MS)


def test_tags_are_typed_in_one_line_for_all_that_is_selected(
    qtbot: QtBot, daemon: DaemonHarness, alike: list[str], application: Application
) -> None:
    see_runs(qtbot, application, len(alike))
    daemon.client.tag_run(alike[0], ["old", "kept"])
    daemon.client.tag_run(alike[1], ["old", "kept", "own"])

    def tags(run: str) -> tuple[str, ...]:
        record = application.state.runs.get(run)
        return record.tags if record else ()

    qtbot.waitUntil(lambda: tags(alike[1]) == ("old", "kept", "own"), timeout=WAIT_MS)
    application.state.select(alike[:2])
    application.workbench.commands.trigger(RunAction.TAG)
    popup = application.window.runs_panel.commands.tags_popup
    assert popup.isVisible() and popup.line.text() == "old kept "
    popup.line.setText("kept, new")
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: tags(alike[0]) == ("kept", "new"), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: tags(alike[1]) == ("kept", "own", "new"), timeout=WAIT_MS)


def test_one_undo_restores_all_that_was_deleted_one_by_one(
    qtbot: QtBot, alike: list[str], application: Application
) -> None:
    see_runs(qtbot, application, 3)
    state, bar = application.state, application.window.snackbar

    def told() -> str:
        return bar.notice.text if bar.notice is not None else ""

    application.workbench.run_actions.delete(alike[:1])
    qtbot.waitUntil(lambda: told() == "1 run deleted", timeout=WAIT_MS)
    application.workbench.run_actions.delete(alike[1:2])
    qtbot.waitUntil(lambda: told() == "2 runs deleted", timeout=WAIT_MS)
    assert len(state.runs) == 1
    bar.action_button.click()
    qtbot.waitUntil(lambda: len(state.runs) == 3, timeout=WAIT_MS)
    names = {record.run_name for record in state.runs.newest_first()}
    assert names == set(NAMES)


def test_the_trash_shows_what_is_in_it_and_gives_it_back(
    qtbot: QtBot, daemon: DaemonHarness, alike: list[str], application: Application
) -> None:
    see_runs(qtbot, application, 3)
    for run in alike[:2]:
        daemon.client.delete_run(run)
    application.workbench.commands.trigger("view.trash")
    page = application.window.stage.page(Page.TRASH)
    assert isinstance(page, TrashPage)
    qtbot.waitUntil(lambda: page.model.rowCount() == 2, timeout=WAIT_MS)
    cells = {row.cells[0]: row.cells for row in page.model.rows}
    assert cells.keys() == {"ours", "ours#2"}
    assert cells["ours"][2] in ("in 7 d", "in 6 d 23 h") and cells["ours"][4] == "by hand"
    # For good, but not at once: there is time to think better of it.
    page.empty_all()
    assert {row.cells[2] for row in page.model.rows} == {"in a moment"}
    application.window.snackbar.action_button.click()
    assert len(daemon.client.trash()) == 2
    page.filter_field.setText("#2")
    assert [row.cells[0] for row in page.model.rows] == ["ours#2"]
    page.table.selectRow(0)
    page.restore_button.click()
    qtbot.waitUntil(lambda: alike[1] in application.state.runs, timeout=WAIT_MS)
    page.filter_field.clear()
    qtbot.waitUntil(lambda: page.model.rowCount() == 1, timeout=WAIT_MS)
    assert application.state.page.value == Page.TRASH, "one may want to restore another"
    page.table.selectRow(0)
    page.delete_selected()
    page._delete_now()  # the ten seconds are over
    qtbot.waitUntil(lambda: not daemon.client.trash(), timeout=WAIT_MS)
    qtbot.waitUntil(lambda: page.message.isVisible(), timeout=WAIT_MS)
    QTest.keyClick(page.table, Qt.Key.Key_Escape)
    assert application.state.page.value == Page.LIVE
