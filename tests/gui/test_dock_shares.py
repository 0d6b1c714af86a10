"""The panels of a window that changes its size."""

from __future__ import annotations

from functools import partial
from itertools import pairwise

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.shell.model.dock_sizes import DockSizes, dock_sizes
from mosaic.gui.state.targets import Page
from tests.gui.conftest import WAIT_MS

NARROW, SMALL, LARGE = (900, 700), (1280, 800), (2560, 1440)


def sizes(application: Application) -> DockSizes:
    window = application.window
    return DockSizes(
        window.launch_dock.width(), window.tabs_dock.width(), window.runs_dock.height()
    )


def has_sizes(application: Application, wanted: DockSizes) -> bool:
    return sizes(application) == wanted


def test_panels_grow_and_shrink_with_the_window(lonely: Application, qtbot: QtBot) -> None:
    for width, height in (LARGE, SMALL, LARGE):
        lonely.window.resize(width, height)
        wanted = dock_sizes(width, height)
        qtbot.waitUntil(partial(has_sizes, lonely, wanted), timeout=WAIT_MS)


def test_a_window_that_was_narrow_is_as_it_was_again(lonely: Application, qtbot: QtBot) -> None:
    window = lonely.window
    for wide in (SMALL, LARGE, SMALL):
        window.resize(*NARROW)
        qtbot.waitUntil(lambda: window.folding.is_narrow, timeout=WAIT_MS)
        qtbot.waitUntil(lambda: not window.tabs_dock.isVisible(), timeout=WAIT_MS)
        window.resize(*wide)
        wanted = dock_sizes(*wide)
        qtbot.waitUntil(partial(has_sizes, lonely, wanted), timeout=WAIT_MS)
        header = window.header
        parts = [header.search_button, header.daemon, header.cpus, header.disk]
        qtbot.waitUntil(lambda parts=parts: stand_apart(parts), timeout=WAIT_MS)  # type: ignore[misc]


def stand_apart(parts: list[QWidget]) -> bool:
    """In a row, none upon another."""
    boxes = sorted((part.geometry() for part in parts), key=lambda box: box.left())
    return all(one.right() < two.left() for one, two in pairwise(boxes))


def test_a_panel_that_was_dragged_keeps_its_size(lonely: Application, qtbot: QtBot) -> None:
    window = lonely.window
    window.resizeDocks([window.tabs_dock], [440], Qt.Orientation.Horizontal)
    qtbot.waitUntil(lambda: sizes(lonely).right == 440, timeout=WAIT_MS)
    window.resize(*LARGE)
    wanted = dock_sizes(*LARGE)._replace(right=440)
    qtbot.waitUntil(lambda: sizes(lonely) == wanted, timeout=WAIT_MS)


def test_a_page_that_was_wide_does_not_keep_the_window_wide(
    lonely: Application, qtbot: QtBot
) -> None:
    window = lonely.window
    window.resize(*LARGE)
    wide = QWidget(window.stage.page(Page.WELCOME))
    wide.setFixedWidth(1600)
    layout = window.stage.page(Page.WELCOME).layout()
    assert layout is not None
    layout.addWidget(wide)
    window.resize(*SMALL)
    qtbot.waitUntil(lambda: window.size().toTuple() == SMALL, timeout=WAIT_MS)
    assert window.minimumSizeHint().width() < SMALL[0]
