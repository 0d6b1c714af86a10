"""The table of runs as a person arranges it: columns, groups, patterns, pictures, pins."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.fastlane.tiling import Picture
from mosaic.gui.application import Application
from mosaic.gui.runs.model.columns import Column, ColumnChoice
from mosaic.gui.runs.model.groups import group_key
from mosaic.gui.runs.panel import RunsPanel
from mosaic.gui.runs.pattern import Pattern
from mosaic.gui.state.live_watch import LiveFrames, LiveViewer, Tile
from mosaic.gui.state.workbench_state import Connection
from mosaic.paths import Home
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.run_samples import over, record

SEEDS = [over(number, group="five") for number in (1, 2, 3)]
ALONE = over(
    4, run_id="01HZZZZZZZZZZZZZZZZZZZZZZ4", run_name="alone", tags=("baseline",), note="by itself"
)
RUNNING = record(5, run_id="01TZZZZZZZZZZZZZZZZZZZZZZ5")
ALL = [*SEEDS, ALONE, RUNNING]
IDS = [run.run_id for run in SEEDS]


def filled(qtbot: QtBot, application: Application) -> RunsPanel:
    panel = application.window.runs_panel
    application.window.resize(1280, 900)
    application.state.set_connection(Connection.CONNECTING)
    application.state.runs.load(ALL)
    qtbot.waitUntil(lambda: panel.model.rowCount() == 6, timeout=WAIT_MS)
    return panel


@pytest.fixture
def panel(qtbot: QtBot, lonely: Application) -> RunsPanel:
    return filled(qtbot, lonely)


def row_of_group(panel: RunsPanel) -> int:
    place = panel.model.place(group_key("five"))
    assert place is not None
    return place


def click_on(panel: RunsPanel, row: int, column: int, left: int = 60) -> None:
    place = panel.table.visualRect(panel.model.index(row, column))
    spot = QPoint(place.left() + left, place.center().y())
    QTest.mouseClick(
        panel.table.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, spot
    )


def test_a_group_is_folded_by_its_arrow_and_selected_by_its_row(
    lonely: Application, panel: RunsPanel
) -> None:
    click_on(panel, row_of_group(panel), Column.NAME)
    assert sorted(lonely.state.selection) == IDS
    assert len({lonely.state.colours.of(run) for run in IDS}) == 1, "one curve, one colour"
    click_on(panel, row_of_group(panel), Column.NAME, left=10)
    assert panel.model.rowCount() == 3 and panel.model.place(IDS[0]) is None
    assert sorted(lonely.state.selection) == IDS, "folding hides rows and selects nothing"
    assert sorted(panel.table.selected_ids()) == IDS
    QTest.keyClick(panel.table, Qt.Key.Key_Right)
    assert panel.model.rowCount() == 6
    QTest.keyClick(panel.table, Qt.Key.Key_Left)
    assert panel.model.rowCount() == 3
    lonely.state.select((IDS[1],))
    assert panel.table.currentIndex().row() in (-1, row_of_group(panel))
    panel.group_runs(False)
    assert panel.model.rowCount() == 5 and panel.model.run_ids[0] == RUNNING.run_id


def test_a_group_tells_mean_and_spread(panel: RunsPanel) -> None:
    text = panel.model.data(panel.model.index(row_of_group(panel), Column.RETURN))
    assert text == "123.5 ± 0.0"
    tip = panel.model.data(panel.model.index(row_of_group(panel), 0), Qt.ItemDataRole.ToolTipRole)
    assert "3 runs of the group five" in tip and SEEDS[0].run_name in tip


def test_columns_are_chosen_moved_and_remembered(
    qtbot: QtBot,
    lonely: Application,
    panel: RunsPanel,
    open_application: Callable[[Home], Application],
) -> None:
    table = panel.table
    panel.choose_columns(panel.model.choice.with_setting("learning_rate").toggled(Column.ELAPSED))
    panel.model.settings.add({ALONE.run_id: {"learning_rate": 0.001}})
    panel.model.take_settings((ALONE.run_id,))
    place = panel.model.place(ALONE.run_id)
    assert place is not None
    rate = len(Column)
    assert panel.model.data(panel.model.index(place, rate)) == "0.001"
    assert table.isColumnHidden(Column.ELAPSED) and not table.isColumnHidden(rate)
    header = table.horizontalHeader()
    header.moveSection(header.visualIndex(Column.RETURN), 1)
    assert panel.model.choice.visual_order[1] == Column.RETURN
    # What is at the right end stays there.
    header.moveSection(header.visualIndex(Column.ACTIONS), 0)
    assert panel.model.choice.visual_order[-2:] == (Column.ACTIONS, Column.SPACE)
    assert header.visualIndex(Column.ACTIONS) == header.count() - 2
    panel.table.sort_by(rate, Qt.SortOrder.DescendingOrder)
    assert panel.model.run_ids[0] == ALONE.run_id
    again = open_application(lonely.workbench.home).window.runs_panel
    assert again.model.choice.visual_order == panel.model.choice.visual_order
    panel.choose_columns(ColumnChoice())
    assert panel.model.columnCount() == len(Column) and not table.isColumnHidden(Column.ELAPSED)


def drag_edge(panel: RunsPanel, column: int, by: int) -> None:
    header = panel.table.horizontalHeader()
    surface = header.viewport()
    edge = header.sectionViewportPosition(column) + header.sectionSize(column) - 2
    begin = QPoint(edge, header.height() // 2)
    left, no_key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    QTest.mouseMove(surface, begin)
    QTest.mousePress(surface, left, no_key, begin)
    for part in (0.5, 1.0):
        at = QPointF(begin + QPoint(round(by * part), 0))
        place = surface.mapToGlobal(at)
        none = Qt.MouseButton.NoButton
        moved = QMouseEvent(QEvent.Type.MouseMove, at, place, none, left, no_key)
        QApplication.sendEvent(surface, moved)
    QTest.mouseRelease(surface, left, no_key, begin + QPoint(by, 0))


def test_the_edge_of_a_heading_widens_its_column_and_it_stays_so(
    qtbot: QtBot,
    lonely: Application,
    panel: RunsPanel,
    open_application: Callable[[Home], Application],
) -> None:
    table = panel.table
    before = table.columnWidth(Column.ENVIRONMENT)
    drag_edge(panel, Column.ENVIRONMENT, 60)
    assert table.columnWidth(Column.ENVIRONMENT) == before + 60
    shown = [table.columnWidth(number) for number in range(panel.model.choice.count)]
    assert sum(shown) == table.viewport().width(), "the others make room"
    drag_edge(panel, Column.STATE, -20)
    assert table.columnWidth(Column.STATE) == 84
    lonely.window.resize(1500, 900)
    assert table.columnWidth(Column.ENVIRONMENT) == before + 60
    again = filled(qtbot, open_application(lonely.workbench.home))
    assert again.table.columnWidth(Column.ENVIRONMENT) == before + 60
    assert again.table.columnWidth(Column.STATE) == 84


def test_a_double_click_on_an_edge_fits_the_column_to_its_content(panel: RunsPanel) -> None:
    table, header = panel.table, panel.table.horizontalHeader()
    drag_edge(panel, Column.NAME, -120)
    cut_off = table.columnWidth(Column.NAME)
    edge = header.sectionViewportPosition(Column.NAME) + cut_off - 2
    left, no_key = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    at = QPoint(edge, header.height() // 2)
    QTest.mouseClick(header.viewport(), left, no_key, at)
    QTest.mouseDClick(header.viewport(), left, no_key, at)
    needed = table._delegate.content_widths()[Column.NAME]
    assert cut_off < needed == table.columnWidth(Column.NAME)


def test_columns_are_as_at_first_again(panel: RunsPanel) -> None:
    table = panel.table
    before = {number: table.columnWidth(number) for number in range(len(Column))}
    drag_edge(panel, Column.NAME, -80)
    drag_edge(panel, Column.PROGRESS, 40)
    (reset,) = (each for each in panel.columns_menu.actions() if each.text() == "Reset columns")
    reset.trigger()
    assert {number: table.columnWidth(number) for number in range(len(Column))} == before


def test_columns_widened_by_hand_fit_a_narrow_window_too(
    lonely: Application, panel: RunsPanel
) -> None:
    table = panel.table
    drag_edge(panel, Column.ENVIRONMENT, 100)
    lonely.window.resize(900, 700)
    place = table.visualRect(panel.model.index(0, Column.ACTIONS))
    assert place.right() <= table.viewport().width()


def test_progress_stays_narrow_on_a_large_screen(lonely: Application, panel: RunsPanel) -> None:
    lonely.window.resize(2560, 1440)
    assert panel.table.columnWidth(Column.PROGRESS) <= 160
    assert panel.table.columnWidth(Column.NAME) <= 520


def test_a_pattern_is_a_filter_and_a_wrong_one_is_said(panel: RunsPanel) -> None:
    panel.filter_field.setText("/seed[12]$|by itself/")
    assert set(panel.model.run_ids) == {IDS[0], IDS[1], ALONE.run_id}
    panel.filter_field.setText("/seed(/")
    assert len(panel.model.run_ids) == 5, "nothing is hidden by what cannot be understood"
    assert "parenthesis" in panel.count_text
    panel.filter_field.setText("^alone$")
    assert panel.model.run_ids == []
    panel.pattern_toggle.trigger()
    assert panel.model.run_ids == [ALONE.run_id]
    panel.pattern_toggle.trigger()
    panel.filter_field.clear()
    assert panel.count_text == "5 runs · 1 running"


@pytest.mark.parametrize(
    "text", ["(a+)+$", "(.*)*x(.*)*y", "((a|aa)+)+b", "(*LIMIT_MATCH=9999999)(.*)*x(.*)*y"]
)
def test_a_catastrophic_pattern_is_given_up(text: str) -> None:
    """Without its limit, one of these would take longer than anybody lives."""
    pattern = Pattern(text)
    began = time.process_time()
    for _ in range(1000):
        pattern.found("a" * 400 + "!")
    # Not a measure of speed: the difference is one of years.
    assert time.process_time() - began < 60
    assert pattern.mistake == ""


def test_what_is_pinned_comes_first(qtbot: QtBot, lonely: Application, panel: RunsPanel) -> None:
    lonely.state.runs.update([dataclasses.replace(ALONE, pinned=True, revision=2)])
    qtbot.waitUntil(lambda: panel.model.run_ids[0] == ALONE.run_id, timeout=WAIT_MS)
    panel.table.sort_by(Column.NAME, Qt.SortOrder.DescendingOrder)
    assert panel.model.run_ids[0] == ALONE.run_id


def test_escape_leaves_the_selection_alone(lonely: Application, panel: RunsPanel) -> None:
    lonely.state.select((ALONE.run_id,))
    QTest.keyClick(panel.table, Qt.Key.Key_Escape)
    assert lonely.state.selection == (ALONE.run_id,)


def test_escape_while_renaming_changes_nothing(
    lonely: Application, panel: RunsPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[str, str]] = []
    panel.table.renamed.connect(lambda run, name: given.append((run, name)))
    field = panel.table.rename_field
    for keys, expected in ((Qt.Key.Key_Escape, 0), (Qt.Key.Key_Return, 1)):
        panel.table.rename(ALONE.run_id)
        assert field.isVisible() and field.text() == "alone"
        field.setText("other")
        QTest.keyClick(field, keys)
        assert not field.isVisible() and len(given) == expected
    assert lonely.state.selection in ((), (ALONE.run_id,))


def test_a_picture_comes_from_what_the_run_left(
    qtbot: QtBot, lonely: Application, panel: RunsPanel
) -> None:
    directory: Path = lonely.workbench.home.run(ALONE.run_id).directory
    (directory / "snapshots").mkdir(parents=True)
    image = QImage(400, 300, QImage.Format.Format_RGB888)
    image.fill(QColor("#ff0000"))
    assert image.save(str(directory / "snapshots" / "a.png"))
    (directory / "snapshots" / "z.png").write_bytes(b"no picture")
    panel.choose_columns(panel.model.choice.toggled(Column.PICTURE))
    thumbnails = panel.table.thumbnails

    def is_there() -> bool:
        picture = thumbnails.picture(ALONE)
        return picture is not None and picture.width() <= 180

    # The newest file is damaged: there is no picture, and nothing else happens.
    qtbot.waitUntil(lambda: not thumbnails._is_reading, timeout=WAIT_MS)
    (directory / "snapshots" / "z.png").unlink()
    thumbnails.forget([ALONE.run_id])
    qtbot.waitUntil(is_there, timeout=WAIT_MS)
    assert panel.table.rowHeight(0) > 28


def test_what_is_watched_live_becomes_the_picture(
    qtbot: QtBot, lonely: Application, panel: RunsPanel
) -> None:
    directory = lonely.workbench.home.run(RUNNING.run_id).directory
    directory.mkdir(parents=True)
    live = lonely.state.live
    live.begin(LiveViewer.CENTRE, RUNNING.run_id)
    picture = Picture(6, 4, bytes([0, 255, 0] * 24))
    live.take(LiveFrames(tiles=(Tile(0, picture, None, 1),)), 0.0)
    thumbnails = panel.table.thumbnails
    thumbnails._look()
    found = thumbnails.picture(RUNNING)
    assert found is not None and found.toImage().pixelColor(1, 1) == QColor(0, 255, 0)
    thumbnails._save()
    qtbot.waitUntil(lambda: (directory / "thumbnail.png").exists(), timeout=WAIT_MS)
