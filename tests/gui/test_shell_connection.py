"""The header and the banner, with a real daemon that dies, is stopped and comes back."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.client.daemon_process import stop_daemon
from mosaic.gui.application import Application
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS


def wait_for(qtbot: QtBot, application: Application, connection: Connection) -> None:
    qtbot.waitUntil(lambda: application.state.connection is connection, timeout=WAIT_MS)


def test_the_header_tells_what_the_daemon_has(qtbot: QtBot, application: Application) -> None:
    header = application.window.header
    wait_for(qtbot, application, Connection.ONLINE)
    assert header.daemon.text() == "online"
    assert "pid" in header.daemon.toolTip()
    assert header.cpus.text() == "CPU 64/64"
    qtbot.waitUntil(lambda: "B" in header.disk.text(), timeout=WAIT_MS)
    assert not application.window.banner.isVisible()


def test_a_window_that_looks_for_its_daemon_is_calm(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path
) -> None:
    """Nothing is red before a connection has really failed for a while."""
    home = Home(tmp_path)
    home.create()
    application = Application(qapp, home, lambda: AsyncTrainerClient(home, autostart=False))
    seen: list[Connection] = []
    application.state.connection_changed.connect(lambda name: seen.append(Connection(name)))
    application.start()
    window = application.window
    try:
        qtbot.waitUntil(lambda: application.state.connection_problem != "", timeout=WAIT_MS)
        assert application.state.connection is Connection.CONNECTING
        assert not window.banner.isVisible()
        assert window.launch_panel.footer.status.text() == "connecting to the daemon …"
        assert window.launch_panel.footer.status.property("role") == "caption"
        assert "connecting" in window.header.daemon.text()
        wait_for(qtbot, application, Connection.LOST)
        assert window.banner.isVisible()
        assert Connection.LOST not in seen[:-1]
    finally:
        application.close()


def test_a_killed_daemon_is_told_and_its_return_too(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    window = application.window
    wait_for(qtbot, application, Connection.ONLINE)
    widths = [figure.width() for figure in (window.header.daemon, window.header.cpus)]
    daemon.kill()
    wait_for(qtbot, application, Connection.LOST)
    assert window.header.daemon.text() == "lost"
    assert window.banner.isVisible()
    assert "runs are not affected" in window.banner.text
    daemon.start()
    wait_for(qtbot, application, Connection.ONLINE)
    assert not window.banner.isVisible()
    assert [figure.width() for figure in (window.header.daemon, window.header.cpus)] == widths


def test_a_daemon_that_was_stopped_starts_with_a_click(
    qtbot: QtBot, qapp: QApplication, daemon: DaemonHarness
) -> None:
    home = daemon.home
    application = Application(
        qapp, home, lambda: AsyncTrainerClient(home, wakes=False), theme_name="dark"
    )
    application.start()
    banner = application.window.banner
    try:
        wait_for(qtbot, application, Connection.ONLINE)
        daemon.stop()
        qtbot.waitUntil(lambda: application.state.is_daemon_stopped, timeout=WAIT_MS)
        assert "was stopped" in banner.text and banner.button.isVisible()
        qtbot.mouseClick(banner.button, Qt.MouseButton.LeftButton)
        wait_for(qtbot, application, Connection.ONLINE)
        assert not banner.isVisible()
    finally:
        application.close()
        stop_daemon(home)


def test_a_window_opens_on_the_newest_run(
    qtbot: QtBot, daemon: DaemonHarness, open_application: Callable[[Home], Application]
) -> None:
    daemon.wait_over(daemon.submit())
    newest = daemon.submit()
    daemon.wait_over(newest)
    application = open_application(daemon.home)
    application.start()
    qtbot.waitUntil(lambda: application.state.selection == (newest,), timeout=WAIT_MS)
    assert application.state.page is Page.LIVE


def test_a_window_without_runs_opens_on_the_welcome_page(
    qtbot: QtBot, application: Application
) -> None:
    qtbot.waitUntil(lambda: application.state.runs.is_loaded, timeout=WAIT_MS)
    assert application.state.page is Page.WELCOME
    assert application.state.selection == ()
