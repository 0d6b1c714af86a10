"""The feeds, where answers are slow and something happens meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest
from pytestqt.qtbot import QtBot

from mosaic.gui.services.async_bridge import AsyncBridge
from mosaic.gui.services.feeds import Feeds
from mosaic.gui.state.workbench_state import WorkbenchState
from tests.gui.held_answers import HeldAnswers
from tests.unit.gui.run_samples import record

FIRST, SECOND = record(1), record(2)


@pytest.fixture
def state() -> WorkbenchState:
    return WorkbenchState()


@pytest.fixture
def daemon() -> HeldAnswers:
    return HeldAnswers()


@pytest.fixture
def feeds(qtbot: QtBot, state: WorkbenchState, daemon: HeldAnswers) -> Iterator[Feeds]:
    made = Feeds(None, state, cast(AsyncBridge, daemon))
    yield made
    made.stop()


def test_a_run_that_came_after_a_list_was_asked_for_stays(
    feeds: Feeds, state: WorkbenchState, daemon: HeldAnswers
) -> None:
    state.runs.load([FIRST])
    feeds.reload()
    state.runs.update([SECOND])
    state.select([SECOND.run_id])
    daemon.answer(daemon.asked[0][0], [FIRST])
    assert SECOND.run_id in state.runs and state.selection == (SECOND.run_id,)
    feeds.reload()
    daemon.answer(daemon.asked[-1][0], [FIRST])
    assert SECOND.run_id not in state.runs, "deleted by somebody else"


def test_details_that_are_slow_are_waited_for_however_often_the_run_reports(
    feeds: Feeds, state: WorkbenchState, daemon: HeldAnswers
) -> None:
    state.runs.load([FIRST])
    state.select([FIRST.run_id])
    for _ in range(3):
        feeds._details_timer.timeout.emit()  # it has news
    assert len(daemon.asked) == 1
    daemon.answer_all(FIRST)
    assert state.details == FIRST
