"""Person: uses the window by mouse and keyboard, and looks at what it shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QFileDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QScrollArea,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot

from mosaic.contracts.run_record import RunRecord
from mosaic.front.catalogue import algorithms
from mosaic.front.training_config import Training, train_document
from mosaic.gui.application import Application
from mosaic.gui.forms.field_row import FieldRow
from mosaic.gui.outcome.page import OutcomePage
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.tabs.run_tab import RunTab
from mosaic.gui.widgets.stage_page import StagePage
from tests.daemon_harness import DaemonHarness

# A learner imports its libraries first, which takes long on a machine with other work.
SEE_MS = 60_000
LEARNER_S = 120
LEFT = Qt.MouseButton.LeftButton
CONTROL = Qt.KeyboardModifier.ControlModifier
NO_MODIFIER = Qt.KeyboardModifier.NoModifier
Key = Qt.Key

PageT = TypeVar("PageT", bound=StagePage)
TabT = TypeVar("TabT", bound=RunTab)
WidgetT = TypeVar("WidgetT", bound=QWidget)


class Person:
    """Does nothing but what hands and eyes can do; `see` waits until something is shown."""

    def __init__(self, qtbot: QtBot, application: Application) -> None:
        self.qtbot, self.application = qtbot, application
        self.window, self.state = application.window, application.state
        self.launch = self.window.launch_panel
        self.runs = self.window.runs_panel
        self.window.activateWindow()
        self.see(self.window.isActiveWindow)

    # Eyes

    def see(self, is_seen: Callable[[], bool], timeout_ms: int = SEE_MS) -> None:
        self.qtbot.waitUntil(is_seen, timeout=timeout_ms)

    def see_everything_ready(self) -> None:
        """Joined to the daemon, and the form can be used."""
        state = self.state
        self.see(lambda: state.connection is Connection.ONLINE and state.runs.is_loaded)
        self.see(lambda: bool(state.workers and state.environments))

    def see_notice(self, words: str) -> None:
        self.see(lambda: words in self.notice)

    @property
    def notice(self) -> str:
        found = self.window.snackbar.notice
        return found.text if found is not None and self.window.snackbar.isVisible() else ""

    def page(self, page: Page, kind: type[PageT]) -> PageT:
        """Of the centre; it must be the one that is seen."""
        self.see(lambda: self.state.page is page)
        found = self.window.stage.page(page)
        assert isinstance(found, kind)
        assert found.isVisible()
        return found

    def outcome(self) -> OutcomePage:
        """The centre of a run that is over."""
        self.see(lambda: self.window.stage.shown is self.window.stage.outcome)
        return self.window.stage.outcome

    def cell(self, run_id: str, column: Column) -> str:
        """What stands in the table of runs."""
        row = self.row(run_id)
        return str(self.runs.model.index(row, column).data() or "") if row is not None else ""

    def row(self, run_id: str) -> int | None:
        return self.runs.model.place(run_id)

    @property
    def selected(self) -> list[str]:
        return self.runs.table.selected_ids()

    def record(self, run_id: str) -> RunRecord:
        found = self.state.runs.get(run_id)
        assert found is not None
        return found

    def see_state(self, run_id: str, word: str) -> None:
        self.see(lambda: self.cell(run_id, Column.STATE) == word)

    def see_details(self) -> None:
        """Until then the right panel still shows the run that was selected before."""
        state = self.state
        self.see(lambda: state.details is not None and state.details.run_id == state.leading_id)

    def see_new_run(self, known: set[str]) -> str:
        """The run that was not there before, selected in the table."""
        self.see(lambda: len(self.selected) == 1 and self.selected[0] not in known)
        return self.selected[0]

    @property
    def known_runs(self) -> set[str]:
        return {record.run_id for record in self.state.runs.newest_first()}

    # The mouse

    def click(
        self,
        widget: QWidget,
        at: QPoint | None = None,
        modifier: Qt.KeyboardModifier = NO_MODIFIER,
    ) -> None:
        self.see(widget.isVisible)
        self.see(widget.isEnabled)
        _scroll_to(widget)
        self.qtbot.mouseClick(widget, LEFT, modifier, at or widget.rect().center())

    def click_when_ready(self, button: QAbstractButton) -> None:
        self.see(button.isEnabled)
        self.click(button)

    def choose(self, menu_title: str, title: str) -> None:
        """A command, by the menu bar."""
        bar = self.window.menuBar()
        entry = next(item for item in bar.actions() if _plain(item) == menu_title)
        self.click(bar, bar.actionGeometry(entry).center())
        menu = entry.menu()
        assert isinstance(menu, QMenu)
        self.see(menu.isVisible)
        action = next(item for item in menu.actions() if _plain(item) == title)
        self.see(action.isEnabled)  # news of a run may still be on their way
        self.qtbot.mouseClick(menu, LEFT, NO_MODIFIER, menu.actionGeometry(action).center())

    def select_run(self, run_id: str, modifier: Qt.KeyboardModifier = NO_MODIFIER) -> None:
        self.see(lambda: self.row(run_id) is not None)
        place = self._row_rect(run_id, Column.NAME)
        self.click(self.runs.table.viewport(), place.center(), modifier)
        assert run_id in self.selected

    def select_runs(self, *run_ids: str) -> None:
        for number, run_id in enumerate(run_ids):
            self.select_run(run_id, CONTROL if number else NO_MODIFIER)

    def click_in_row(self, run_id: str, slot: int) -> None:
        """The small pictures at the right end of a row; 0 is the last one."""
        place = self._row_rect(run_id, Column.ACTIONS)
        at = QPoint(place.right() - 4 - 28 * slot - 14, place.center().y())
        self.click(self.runs.table.viewport(), at)

    def open_tab(self, tab_id: str, kind: type[TabT]) -> TabT:
        """By a click on its title, or by the menu of those that have no room."""
        panel = self.window.tabs_panel
        self.see_details()
        self.see(lambda: tab_id in panel.tab_ids)
        bar = panel.bar
        if tab_id in bar.visible_ids:
            titles = bar.findChild(QTabBar)
            assert titles is not None
            self.click(titles, titles.tabRect(bar.visible_ids.index(tab_id)).center())
        else:
            self.click(bar.menu_button)
            menu = bar.findChild(QMenu)
            assert menu is not None
            self.see(menu.isVisible)
            action = next(item for item in menu.actions() if item.data() == tab_id)
            self.qtbot.mouseClick(menu, LEFT, NO_MODIFIER, menu.actionGeometry(action).center())
        self.see(lambda: panel.current_id == tab_id)
        tab = panel.tab(tab_id)
        assert isinstance(tab, kind) and tab.isVisible()
        return tab

    # The keyboard

    def write(self, field: QLineEdit, text: str) -> None:
        """Instead of what stands there."""
        self.click(field)
        self.qtbot.keyClick(field, Key.Key_A, CONTROL)
        self.qtbot.keyClicks(field, text)

    def press(self, key: Qt.Key, modifier: Qt.KeyboardModifier = NO_MODIFIER) -> None:
        """Whatever has the keyboard gets it."""
        self.take_keyboard()
        self.qtbot.keyClick(QApplication.focusWidget() or self.window, key, modifier)

    def take_keyboard(self) -> None:
        """The window has it, unless something took it away that should not have."""
        QApplication.processEvents()
        active = QApplication.activeWindow()
        if isinstance(active, QMenu) and not active.isVisible():
            # Without a screen, a menu that was used comes back as the active window.
            self.window.activateWindow()
            self.see(self.window.isActiveWindow)
        # A widget that is shown before it has a place is a window for a moment, and takes it.
        assert QApplication.activeWindow() is not None, "no window has the keyboard"

    # The form

    def field(self, name: str) -> FieldRow:
        form = self.launch.schema_form
        assert form is not None
        row = form.row(name)
        assert row is not None and row.isVisible(), f"there is no field {name} to be seen"
        return row

    def fill(self, name: str, text: str) -> None:
        editor = self.field(name).editor
        assert isinstance(editor, QLineEdit)
        self.write(editor, text)

    def open_section(self, title: str) -> None:
        form = self.launch.schema_form
        assert form is not None
        header = form.section(title).header
        assert header is not None
        if not header.isChecked():
            self.click(header)

    def start(self) -> None:
        """Presses the large button; what is in its way would stand beside it."""
        button = self.launch.footer.button
        self.see(button.isEnabled)
        self.click(button)

    # Files

    def save_as(self, path: Path) -> None:
        """In the dialog that asks for a file."""
        self.see(lambda: _shown_dialog() is not None)
        dialog = _shown_dialog()
        assert dialog is not None
        line, buttons = dialog.findChild(QLineEdit), dialog.findChild(QDialogButtonBox)
        assert line is not None and buttons is not None
        self.write(line, str(path))
        save = buttons.button(QDialogButtonBox.StandardButton.Save)

        def is_saved() -> bool:
            # Refused until Qt has read the folder, which it does in a thread of its own.
            if _shown_dialog() is not None:
                self.click(save)
            return _shown_dialog() is None

        self.see(is_saved)

    # Inside

    def _row_rect(self, run_id: str, column: Column) -> QRect:
        row = self.row(run_id)
        assert row is not None
        table = self.runs.table
        index = self.runs.model.index(row, column)
        table.scrollTo(index)
        return table.visualRect(index)


def somebody(qtbot: QtBot, application: Application) -> Person:
    """In front of a window that has found its daemon."""
    person = Person(qtbot, application)
    person.see_everything_ready()
    return person


def texts(widget: QWidget) -> str:
    """All the words that are to be seen in it."""
    labels = widget.findChildren(QLabel)
    return "\n".join(item.text() for item in labels if item.isVisible())


def pick(person: Person, combo: QComboBox, text: str) -> None:
    """With the keyboard: down the list until it is there."""
    combo.setFocus()
    person.qtbot.keyClick(combo, Key.Key_Home)
    for _ in range(combo.count()):
        if combo.currentText() == text:
            return
        person.qtbot.keyClick(combo, Key.Key_Down)
    assert combo.currentText() == text


def train_quickly(daemon: DaemonHarness, *, seed: int = 1, timesteps: int = 2048) -> str:
    """Starts a PPO on CartPole; with few steps it is over soon after its libraries are there."""
    algorithm = next(item for item in algorithms() if item.name == "ppo")
    training = Training(algorithm, "CartPole-v1", total_timesteps=timesteps, seed=seed)
    return daemon.client.start_run(train_document(training))


def wait_trained(daemon: DaemonHarness, run_id: str) -> str:
    record = daemon.wait_over(run_id, timeout_s=LEARNER_S)
    assert record.outcome == "succeeded" and record.checkpoint_uri
    return run_id


def _shown_dialog() -> QFileDialog | None:
    return next(
        (
            item
            for item in QApplication.topLevelWidgets()
            if isinstance(item, QFileDialog) and item.isVisible()
        ),
        None,
    )


def _plain(action: QAction) -> str:
    return action.text().replace("&", "")


def _scroll_to(widget: QWidget) -> None:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, QScrollArea):
            parent.ensureWidgetVisible(widget)
        parent = parent.parentWidget()
