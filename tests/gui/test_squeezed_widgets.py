"""Nothing is painted smaller than it needs to be, however much comes into its place."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from mosaic.gui.application import Application
from mosaic.gui.forms.field_row import FieldRow
from mosaic.gui.launch.panel import LaunchPanel
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection
from tests.gui.conftest import WAIT_MS
from tests.unit.gui.launch_samples import filled_state, health, installed_workers


class PaintWatcher(QObject):
    """How much each painted field lacked of what it needs."""

    def __init__(self) -> None:
        super().__init__()
        self.painted = 0
        self.squeezed: list[str] = []

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and isinstance(watched, FieldRow):
            self.painted += 1
            needed = watched.minimumSizeHint().height()
            if watched.height() < needed:
                self.squeezed.append(f"{watched.objectName()}: {watched.height()} of {needed}")
        return False


@pytest.fixture
def panel(lonely: Application) -> LaunchPanel:
    sample, state = filled_state(), lonely.state
    state.set_connection(Connection.ONLINE)
    state.set_health(health())
    state.set_catalogue(sample.algorithms, sample.environments)
    state.set_workers(installed_workers())
    return lonely.window.launch_panel


def test_a_card_that_appears_below_the_form_never_squeezes_it(
    panel: LaunchPanel, qtbot: QtBot
) -> None:
    panel.roster.row("script").click()
    form = panel.schema_form
    assert form is not None
    qtbot.waitUntil(form.isVisible, timeout=WAIT_MS)
    watcher = PaintWatcher()
    for row in form.rows():
        row.installEventFilter(watcher)
    # The card is much higher than what is left, and a paint was on its way before it came.
    panel.preview._on_read([f"line {number}" for number in range(40)])
    QCoreApplication.sendEvent(panel.window(), QEvent(QEvent.Type.UpdateRequest))
    assert watcher.painted and watcher.squeezed == []


def every_page(application: Application) -> QWidget:
    """Pages and tabs are made when they are first asked for."""
    window = application.window
    for page in Page:
        window.stage.page(page)
    return window


def test_no_button_can_become_smaller_than_its_icon(
    panel: LaunchPanel, lonely: Application
) -> None:
    panel.roster.row("script").click()
    buttons = every_page(lonely).findChildren(QToolButton)
    assert len(buttons) > 20
    too_small = []
    for button in buttons:
        button.ensurePolished()
        # A line's own buttons are placed by the line, which is high enough for them.
        if button.icon().isNull() or type(button.parent()) is QLineEdit:
            continue
        least, icon = button.minimumSize(), button.iconSize()
        if least.width() < icon.width() or least.height() < icon.height():
            too_small.append((button.accessibleName(), least.toTuple(), icon.toTuple()))
    assert too_small == []


def test_a_height_that_a_text_field_has_set_is_kept(panel: LaunchPanel) -> None:
    panel.roster.row("script").click()
    texts = [*panel.findChildren(QPlainTextEdit)]
    assert texts
    for text in texts:
        text.ensurePolished()
        assert text.minimumHeight() == text.maximumHeight(), text.objectName()
