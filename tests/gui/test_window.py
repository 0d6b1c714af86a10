"""The window as a whole."""

from __future__ import annotations

from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.state.workbench_state import Connection
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS


def test_the_window_finds_its_daemon(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    state = application.state
    qtbot.waitUntil(lambda: state.connection is Connection.ONLINE, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: bool(state.workers and state.environments), timeout=WAIT_MS)
    assert state.health is not None and daemon.process is not None
    assert state.health.pid == daemon.process.pid
    assert state.runs.is_loaded and len(state.runs) == 0
