"""The table of runs: what it shows, and how it keeps step with what is selected."""

from __future__ import annotations

import dataclasses

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import Progress
from mosaic.contracts.run_state import FailureKind, Outcome
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.gui.application import Application
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.runs.panel import RunsPanel
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.run_samples import failed, over, record

RUNS = [record(1), over(2), failed(3, FailureKind.EXIT_CODE, "It ended with exit code 3.")]
RUNNING, DONE, FAILED = (run.run_id for run in RUNS)


@pytest.fixture
def panel(qtbot: QtBot, lonely: Application) -> RunsPanel:
    found = lonely.window.runs_panel
    lonely.state.set_connection(Connection.ONLINE)
    able = WorkerCapabilities(
        "sample", supports_resume=True, supports_policy_load=True, supports_pause_resume=True
    )
    lonely.state.set_workers([WorkerInfo("sample", "", "", "", "", able, ())])
    lonely.state.runs.load(RUNS)
    qtbot.waitUntil(lambda: found.model.rowCount() == 3, timeout=WAIT_MS)
    return found


def said(application: Application) -> list[str]:
    heard: list[str] = []

    def hear(notice: Notice) -> None:
        heard.append(notice.text)

    application.state.said.connect(hear)
    return heard


def cell(panel: RunsPanel, run_id: str, column: Column) -> QModelIndex:
    place = panel.model.place(run_id)
    assert place is not None
    return panel.model.index(place, column)


def click(
    qtbot: QtBot,
    panel: RunsPanel,
    run_id: str,
    key: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> None:
    spot = panel.table.visualRect(cell(panel, run_id, Column.NAME)).center()
    QTest.mouseClick(panel.table.viewport(), Qt.MouseButton.LeftButton, key, spot)


def test_runs_are_listed_newest_first(panel: RunsPanel) -> None:
    assert panel.model.run_ids == [FAILED, DONE, RUNNING]
    assert panel.model.data(cell(panel, DONE, Column.NAME)) == "ppo-CartPole-v1-seed2"
    assert panel.count_text == "3 runs · 1 running"


def test_a_click_selects_and_ctrl_adds(qtbot: QtBot, lonely: Application, panel: RunsPanel) -> None:
    click(qtbot, panel, DONE)
    assert list(lonely.state.selection) == [DONE]
    click(qtbot, panel, RUNNING, Qt.KeyboardModifier.ControlModifier)
    assert list(lonely.state.selection) == [RUNNING, DONE]


def test_arrows_and_ctrl_a_select(qtbot: QtBot, lonely: Application, panel: RunsPanel) -> None:
    click(qtbot, panel, FAILED)
    QTest.keyClick(panel.table, Qt.Key.Key_Down)
    assert lonely.state.leading_id == DONE
    QTest.keyClick(panel.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert lonely.state.leading_id == DONE
    assert set(lonely.state.selection) == {RUNNING, DONE, FAILED}


def test_what_others_select_is_selected_in_the_table(lonely: Application, panel: RunsPanel) -> None:
    lonely.state.select((RUNNING, FAILED))
    assert panel.table.selected_ids() == [RUNNING, FAILED]


def test_the_selection_stays_with_its_runs_through_sorting_filtering_and_news(
    qtbot: QtBot, lonely: Application, panel: RunsPanel
) -> None:
    lonely.state.select((DONE,))
    panel.table.sort_by(Column.STARTED, Qt.SortOrder.AscendingOrder)
    assert panel.model.run_ids == [RUNNING, DONE, FAILED]
    assert panel.table.selected_ids() == [DONE]
    lonely.state.runs.update([record(9)])
    qtbot.waitUntil(lambda: panel.model.rowCount() == 4, timeout=WAIT_MS)
    assert panel.table.selected_ids() == [DONE]
    panel.filter_field.setText("state:failed")
    assert panel.model.run_ids == [FAILED]
    assert lonely.state.selection == (DONE,)  # hidden is not unselected
    assert panel.count_text == "1 of 4 runs · 2 running"
    panel.filter_field.clear()
    assert panel.table.selected_ids() == [DONE]


def test_a_filter_that_finds_nothing_says_so(panel: RunsPanel) -> None:
    panel.filter_field.setText("nowhere")
    assert not panel.table.isVisible()
    panel.filter_field.clear()
    assert panel.table.isVisible()


def test_news_change_only_their_row(qtbot: QtBot, lonely: Application, panel: RunsPanel) -> None:
    changed: list[tuple[int, int]] = []
    panel.model.dataChanged.connect(
        lambda first, last, *_: changed.append((first.row(), last.row()))
    )
    faster = dataclasses.replace(
        RUNS[0], revision=2, progress=Progress(700, 1000, 30, None, 1.0, 99.0, 5.0)
    )
    lonely.state.runs.update([faster])
    place = panel.model.place(RUNNING)
    qtbot.waitUntil(lambda: (place, place) in changed, timeout=WAIT_MS)
    assert {rows for rows in changed if rows[0] != rows[1]} == set()
    assert panel.model.data(cell(panel, RUNNING, Column.PROGRESS)) == "70 %"


def test_a_header_click_sorts_and_another_turns_it_round(panel: RunsPanel) -> None:
    panel.table.horizontalHeader().sectionClicked.emit(Column.NAME)
    names = [panel.model.data(panel.model.index(row, Column.NAME)) for row in range(3)]
    assert names == sorted(names, reverse=True)
    panel.table.horizontalHeader().sectionClicked.emit(Column.NAME)
    names = [panel.model.data(panel.model.index(row, Column.NAME)) for row in range(3)]
    assert names == sorted(names)
    header = panel.model.headerData(Column.NAME, Qt.Orientation.Horizontal)
    assert header == "Run ▴"


def test_the_pictures_of_a_row_act_on_that_row(
    qtbot: QtBot,
    lonely: Application,
    panel: RunsPanel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped: list[list[str]] = []
    monkeypatch.setattr(lonely.workbench.run_actions, "stop", stopped.append)
    lonely.state.select((DONE,))
    place = panel.table.visualRect(cell(panel, RUNNING, Column.ACTIONS))
    stop = QPoint(place.right() - 4 - 28 - 14, place.center().y())
    QTest.mouseMove(panel.table.viewport(), stop)
    QTest.mouseClick(
        panel.table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, stop
    )
    assert stopped == [[RUNNING]]
    assert lonely.state.selection == (DONE,)


def test_commands_follow_the_selection(lonely: Application, panel: RunsPanel) -> None:
    commands = lonely.workbench.commands
    assert not commands[RunAction.STOP].isEnabled()
    lonely.state.select((RUNNING,))
    assert commands[RunAction.STOP].isEnabled() and commands[RunAction.PAUSE].isEnabled()
    assert not commands[RunAction.DELETE].isEnabled()
    lonely.state.select((DONE,))
    assert not commands[RunAction.STOP].isEnabled()
    assert commands[RunAction.RESUME].isEnabled() and commands[RunAction.DELETE].isEnabled()
    assert not commands[RunAction.COMPARE].isEnabled()
    lonely.state.select((DONE, FAILED))
    assert commands[RunAction.COMPARE].isEnabled()
    lonely.state.runs.update([dataclasses.replace(RUNS[1], pinned=True, revision=2)])
    lonely.state.select((DONE,))
    assert commands[RunAction.UNPIN].isEnabled() and not commands[RunAction.PIN].isEnabled()


def test_enter_opens_the_run_and_compare_compares(
    qtbot: QtBot, lonely: Application, panel: RunsPanel
) -> None:
    lonely.state.select((DONE,))
    QTest.keyClick(panel.table, Qt.Key.Key_Return)
    assert lonely.state.page.value == Page.LIVE.value
    lonely.state.select((DONE, FAILED))
    lonely.workbench.commands.trigger(RunAction.COMPARE)
    assert lonely.state.page.value == Page.COMPARE.value
    assert lonely.state.compared == (DONE, FAILED)


def test_a_live_run_is_not_deleted_and_that_is_said(
    qtbot: QtBot, lonely: Application, panel: RunsPanel
) -> None:
    heard = said(lonely)
    lonely.state.select((RUNNING,))
    QTest.keyClick(panel.table, Qt.Key.Key_Delete)
    assert heard == ["ppo-CartPole-v1-seed1 is still going on: stop it first."]
    assert RUNNING in lonely.state.runs


def test_the_menu_has_what_is_possible_and_nothing_else(
    lonely: Application, panel: RunsPanel
) -> None:
    lonely.state.select((RUNNING,))
    panel.commands.show_menu(QPoint(0, 0))
    menu = panel.commands.menu
    assert menu is not None
    titles = [action.text() for action in menu.actions() if action.text()]
    assert {"Stop", "Pause", "Copy id"} <= set(titles)
    assert "Delete" not in titles and "Resume training" not in titles
    menu.close()


def test_the_reason_of_a_stop_is_asked_beside_the_table(
    qtbot: QtBot,
    lonely: Application,
    panel: RunsPanel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped: list[tuple[list[str], str]] = []
    monkeypatch.setattr(
        lonely.workbench.run_actions, "stop", lambda runs, why: stopped.append((runs, why))
    )
    lonely.state.select((RUNNING,))
    lonely.workbench.commands.trigger(RunAction.STOP_WITH_REASON)
    popup = panel.commands.stop_reason
    assert popup.isVisible() and not popup.isModal()
    QTest.keyClicks(popup.line, "diverged")
    QTest.keyClick(popup.line, Qt.Key.Key_Return)
    assert stopped == [([RUNNING], "diverged")]
    assert not popup.isVisible()


def test_ids_are_copied(lonely: Application, panel: RunsPanel) -> None:
    lonely.state.select((DONE, FAILED))
    lonely.workbench.commands.trigger(RunAction.COPY_ID)
    assert QGuiApplication.clipboard().text() == f"{DONE}\n{FAILED}"


def test_without_runs_there_is_a_first_one_to_start(qtbot: QtBot, lonely: Application) -> None:
    panel = lonely.window.runs_panel
    lonely.state.set_connection(Connection.ONLINE)
    lonely.state.runs.load([])
    assert panel.empty.isVisible()
    assert panel.empty.button.text() == "Train PPO on CartPole (10 s)"
    heard = said(lonely)
    panel.empty.button.click()  # nothing that could train it is known yet
    assert len(heard) == 1 and "ppo" in heard[0]


def test_names_are_never_taken_for_markup(qtbot: QtBot, lonely: Application) -> None:
    panel = lonely.window.runs_panel
    lonely.state.runs.load([over(1, Outcome.FAILED, run_name="<b>bold</b>")])
    qtbot.waitUntil(lambda: panel.model.rowCount() == 1, timeout=WAIT_MS)
    index = panel.model.index(0, Column.NAME)
    assert panel.model.data(index) == "<b>bold</b>"
    tip = panel.model.data(index, Qt.ItemDataRole.ToolTipRole)
    # Qt decides by the first line whether a tooltip is markup.
    assert "<" not in tip.splitlines()[0]


def test_narrow_tables_keep_what_matters(lonely: Application, panel: RunsPanel) -> None:
    lonely.window.resize(1280, 800)
    panel.show_logs(True)
    shown = [column for column in Column if not panel.table.isColumnHidden(column)]
    assert {Column.STATE, Column.NAME, Column.PROGRESS, Column.ACTIONS} <= set(shown)
    assert Column.EPISODES not in shown
    total = sum(panel.table.columnWidth(column) for column in shown)
    assert total <= panel.table.viewport().width()
