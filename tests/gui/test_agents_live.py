"""A person watches agents that live, sends one of them somewhere, and sees what they left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from mosaic.gui.agents.tab import BELIEFS, MAP, AgentsTab
from mosaic.gui.application import Application
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness
from tests.integration.bdi.worker_runs import LAKE, STARTING_S, daemon_with_worker, start

_WAIT_MS = int(STARTING_S * 1000)
_TARGET = 4  # row 2, column 1, above which it begins


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonHarness]:
    with daemon_with_worker(tmp_path / "worker") as harness:
        yield harness


def test_a_person_sends_an_agent_to_a_cell_of_its_map(
    qtbot: QtBot, daemon: DaemonHarness, open_application: Callable[[Home], Application]
) -> None:
    settings = {"env_kwargs": {"is_slippery": False}}
    run_id = start(daemon, {**LAKE, "total_timesteps": 50_000_000, "extras": settings})
    application = open_application(daemon.home)
    application.start()
    state = application.state
    qtbot.waitUntil(lambda: state.runs.get(run_id) is not None, timeout=_WAIT_MS)
    state.select([run_id])
    state.ask_tab("agents")
    panel = application.window.tabs_panel
    qtbot.waitUntil(lambda: panel.current_id == "agents", timeout=_WAIT_MS)
    tab = panel.tab("agents")
    assert isinstance(tab, AgentsTab)
    qtbot.waitUntil(
        lambda: any(row.cells[1].startswith("demand(") for row in tab.beliefs.rows),
        timeout=_WAIT_MS,
    )
    qtbot.waitUntil(lambda: tab.agents.count() == 2, timeout=_WAIT_MS)
    assert tab.confidence.text().startswith("confidence ")

    qtbot.mouseClick(tab.which.button(MAP), Qt.MouseButton.LeftButton)
    page = tab.map_page
    qtbot.waitUntil(
        lambda: page.map.view is not None and page.map.view.scale is not None, timeout=_WAIT_MS
    )
    qtbot.waitUntil(tab.talk.isVisible, timeout=_WAIT_MS)
    place = page.map.canvas.grid.rect(_TARGET).center().toPoint()
    qtbot.mouseClick(page.map.canvas, Qt.MouseButton.LeftButton, pos=place)
    told = "subgoal row 2, column 1: "
    qtbot.waitUntil(lambda: tab.talk.answer.text().startswith(told), timeout=_WAIT_MS)
    assert tab.talk.answer.property("role") == "caption"
    qtbot.mouseClick(tab.which.button(BELIEFS), Qt.MouseButton.LeftButton)
    qtbot.waitUntil(
        lambda: any("row 2, column 1" in row.cells[1] for row in tab.beliefs.rows),
        timeout=_WAIT_MS,
    )
    tab.talk.line.setText("this is (no belief")
    qtbot.mouseClick(tab.talk.send, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: tab.talk.answer.property("role") == "error", timeout=_WAIT_MS)

    daemon.client.stop_run(run_id)
    qtbot.waitUntil(lambda: not tab.talk.isVisible(), timeout=_WAIT_MS)
    assert tab.beliefs.rows
    qtbot.waitUntil(lambda: page.slider.maximum() > 0, timeout=_WAIT_MS)
