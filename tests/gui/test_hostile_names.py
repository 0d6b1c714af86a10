"""Names and messages that look like markup are shown letter by letter, wherever they come up."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QLabel, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from mosaic.contracts.run_state import FailureKind
from mosaic.gui.application import Application
from mosaic.gui.compare.page import RunChips
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.widgets.roles import eliding_label, label
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.launch_samples import filled_state, health, installed_workers
from tests.unit.gui.run_samples import failed, over

HOSTILE = "<img src='/x'><b>boo</b>"
AND = "A&B <i>x</i>"
FAILED = failed(1, FailureKind.EXIT_CODE, HOSTILE, run_name=HOSTILE, env_id=HOSTILE, worker=HOSTILE)
DONE = over(2, run_name=AND, env_id=HOSTILE)


@pytest.fixture
def window(qtbot: QtBot, lonely: Application) -> Iterator[QWidget]:
    """Full of runs that want to be more than text."""
    sample, state = filled_state(), lonely.state
    state.set_connection(Connection.ONLINE)
    state.set_health(health())
    state.set_catalogue(sample.algorithms, sample.environments)
    state.set_workers(installed_workers())
    state.runs.load([FAILED, DONE])
    model = lonely.window.runs_panel.model
    qtbot.waitUntil(lambda: model.rowCount() == 2, timeout=WAIT_MS)
    state.select([FAILED.run_id])
    state.show_page(Page.LIVE)
    yield lonely.window
    QToolTip.hideText()


def shown_tip(qtbot: QtBot, widget: QWidget, at: QPoint) -> QLabel:
    """What comes up when the pointer rests there."""
    event = QHelpEvent(QEvent.Type.ToolTip, at, widget.mapToGlobal(at))
    QApplication.sendEvent(widget, event)
    qtbot.waitUntil(lambda: _tip() is not None, timeout=WAIT_MS)
    found = _tip()
    assert found is not None
    return found


def _tip() -> QLabel | None:
    tops = QApplication.topLevelWidgets()
    found = [top for top in tops if isinstance(top, QLabel) and top.inherits("QTipLabel")]
    return next((tip for tip in found if tip.isVisible()), None)


def is_literal(shown: QLabel) -> bool:
    return shown.textFormat() is Qt.TextFormat.PlainText


def test_no_label_takes_text_for_markup(qtbot: QtBot, lonely: Application, window: QWidget) -> None:
    for page in Page:
        lonely.window.stage.page(page)
    lonely.state.say(Notice(HOSTILE))
    labels = [item for item in window.findChildren(QLabel) if item.text()]
    assert any(HOSTILE in item.text() for item in labels)
    assert [item.text() for item in labels if not is_literal(item)] == []


@pytest.mark.parametrize("make", [label, eliding_label])
def test_labels_are_made_for_plain_text(qtbot: QtBot, make: type[QLabel]) -> None:
    made = make(HOSTILE)
    qtbot.addWidget(made)
    assert is_literal(made) and made.text() == HOSTILE


def test_the_tip_of_a_row_is_plain_text(qtbot: QtBot, lonely: Application, window: QWidget) -> None:
    table, model = lonely.window.runs_panel.table, lonely.window.runs_panel.model
    place = model.place(FAILED.run_id)
    assert place is not None
    name = model.index(place, Column.NAME)
    assert HOSTILE in str(name.data())
    tip = shown_tip(qtbot, table.viewport(), table.visualRect(name).center())
    assert is_literal(tip) and HOSTILE in tip.text()


def test_the_tip_of_a_card_is_plain_text(
    qtbot: QtBot, lonely: Application, window: QWidget
) -> None:
    card = lonely.window.stage.outcome.failure_card
    qtbot.waitUntil(card.isVisible, timeout=WAIT_MS)
    assert HOSTILE in card.happened.text()
    tip = shown_tip(qtbot, card.happened, QPoint(2, 2))
    assert is_literal(tip) and HOSTILE in tip.text()


def test_a_tip_that_is_nothing_but_markup_is_plain_text(
    qtbot: QtBot, lonely: Application, window: QWidget
) -> None:
    lonely.state.set_connection(Connection.LOST, HOSTILE)
    dot = lonely.window.header.daemon
    dot.setToolTip(HOSTILE)
    tip = shown_tip(qtbot, dot, QPoint(2, 2))
    assert is_literal(tip) and tip.text() == HOSTILE
    # One that is there already is used again.
    dot.setToolTip(f"{HOSTILE} and more")
    assert is_literal(shown_tip(qtbot, dot, QPoint(2, 2)))


def test_ampersands_of_names_stay_in_the_comparison(
    qtbot: QtBot, lonely: Application, window: QWidget
) -> None:
    chips = RunChips(lonely.workbench)
    qtbot.addWidget(chips)
    chips.show_runs([DONE.run_id, FAILED.run_id], {})
    assert chips.names == [AND, HOSTILE]
    assert "A&&B" in chips.chip(DONE.run_id).text()  # as a button has to be told
