"""Objects in cycles are destroyed in the window's thread, whoever allocates."""

from __future__ import annotations

import gc
import threading

from PySide6.QtCore import QObject, Qt
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from tests.gui.conftest import WAIT_MS

MANY = 100_000  # objects, more than Python lets pass without looking for cycles


def test_what_another_thread_would_have_collected_is_destroyed_in_the_windows(
    qtbot: QtBot, lonely: Application
) -> None:
    destroyed_in: list[threading.Thread] = []
    kept: list[list[object]] = []

    def in_a_cycle() -> None:
        made = QObject()
        made.__dict__["itself"] = made
        made.destroyed.connect(
            lambda: destroyed_in.append(threading.current_thread()),
            Qt.ConnectionType.DirectConnection,
        )

    in_a_cycle()
    other = threading.Thread(target=lambda: kept.extend([] for _ in range(MANY)))
    other.start()
    other.join()
    qtbot.waitUntil(lambda: bool(destroyed_in), timeout=WAIT_MS)
    assert destroyed_in == [threading.main_thread()]


def test_python_collects_by_itself_again_once_the_window_is_closed(lonely: Application) -> None:
    assert not gc.isenabled()
    lonely.close()
    assert gc.isenabled()
