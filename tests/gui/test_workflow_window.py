"""The window itself: its theme, how it is found again, and that nothing of it is left."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.charts.tab import ChartsTab
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.run_config.tab import ConfigTab
from mosaic.gui.state.targets import Page
from mosaic.gui.theme.tokens import DARK, LIGHT
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness
from tests.gui.workflow_steps import Person, somebody

SIZE = (640, 640)  # as narrow as its panels allow, on the small screen that nobody sees
OPENINGS = 10
# Of one window more; measured are 2 to 4 MB, which Qt's caches of fonts and pictures explain.
MOST_GROWTH_MB = 15.0


@contextmanager
def opened(qapp: QApplication, home: Home) -> Iterator[Application]:
    """As `mosaic gui` does it: with the theme that was chosen last."""
    application = Application(qapp, home, lambda: AsyncTrainerClient(home, autostart=False))
    application.start()
    try:
        yield application
    finally:
        application.close()
        window = application.window
        running = [timer for timer in window.findChildren(QTimer) if timer.isActive()]
        assert not running, f"timers left running: {[timer.parent() for timer in running]}"
        window.deleteLater()
        QCoreApplication.sendPostedEvents(window, QEvent.Type.DeferredDelete)


@pytest.fixture(autouse=True)
def dark_again(qapp: QApplication) -> Iterator[None]:
    """What a test chose is dressed over by the next window; the widgets of none are left."""
    yield
    assert not [item for item in QApplication.topLevelWidgets() if item.isVisible()]


def test_a_window_is_found_as_it_was_left(
    qtbot: QtBot, qapp: QApplication, daemon: DaemonHarness
) -> None:
    run_id = daemon.submit()
    daemon.wait_over(run_id)
    with opened(qapp, daemon.home) as application:
        person = somebody(qtbot, application)
        person.choose("View", "Light theme")
        assert application.theme.palette is LIGHT
        ground = application.window.grab().toImage().pixelColor(3, 300).name()
        assert ground == LIGHT.window
        person.choose("View", "Agent panel")
        assert not application.window.launch_dock.isVisible()
        person.select_run(run_id)
        person.open_tab("config", ConfigTab)
        application.window.resize(*SIZE)
        size = application.window.size()
    with opened(qapp, daemon.home) as application:
        person = somebody(qtbot, application)
        window = application.window
        assert application.theme.palette is LIGHT
        assert window.size() == size
        assert not window.launch_dock.isVisible() and window.runs_dock.isVisible()
        person.see(lambda: person.selected == [run_id])
        person.see(lambda: window.tabs_panel.current_id == "config")
        person.choose("View", "Agent panel")
        assert window.launch_dock.isVisible()
        person.choose("View", "Dark theme")
        assert application.theme.palette is DARK


def use_much(person: Person, run_id: str) -> None:
    """Every kind of thing that has a thread, a timer, a process or a stream."""
    person.select_run(run_id)
    person.open_tab("charts", ChartsTab)
    person.choose("Run", "Replay")
    view = person.page(Page.REPLAY, ReplayPage)
    person.see(lambda: view.panel.image is not None)
    if not person.runs.log_drawer.isVisible():  # a new window opens them again
        person.choose("View", "Logs")
    person.see(person.runs.log_drawer.isVisible)
    person.choose("Help", "Doctor")
    person.see(lambda: person.state.page is Page.WELCOME)
    person.select_run(run_id)
    person.choose("Run", "Show in the centre")
    person.choose("Run", "Copy id")


def test_windows_opened_and_closed_leave_nothing(
    qtbot: QtBot, qapp: QApplication, daemon: DaemonHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = daemon.submit(run_name="looked-at")
    daemon.wait_over(run_id)
    threads, own = set(threading.enumerate()), psutil.Process()
    children = {child.pid for child in own.children()}
    sizes = []
    for number in range(OPENINGS):
        with opened(qapp, daemon.home) as application:
            person = somebody(qtbot, application)
            if number % 3 == 0:
                use_much(person, run_id)
            else:
                person.select_run(run_id)
        del application, person
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        sizes.append(own.memory_info().rss / 1e6)
    left = [thread.name for thread in set(threading.enumerate()) - threads if thread.is_alive()]
    assert not [name for name in left if name.startswith("mosaic")]
    started = [child for child in own.children() if child.pid not in children]
    assert not started, [child.cmdline() for child in started]
    windows = [item for item in QApplication.topLevelWidgets() if item.isVisible()]
    assert not windows
    files = [name for name in map(_target, Path(f"/proc/{os.getpid()}/fd").iterdir()) if name]
    assert not [name for name in files if "/dev/shm/mosaic" in name]
    # The first ones fill caches that stay.
    growth = (sizes[-1] - sizes[3]) / (len(sizes) - 4)
    with capsys.disabled():
        print(f" [{growth:.1f} MB a window]", end="")
    assert growth < MOST_GROWTH_MB, sizes


def _target(link: Path) -> str:
    try:
        return str(link.readlink())
    except OSError:
        return ""
