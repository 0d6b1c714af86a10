"""ConfigTab: what the run was started with, where it comes from, and what became of it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.state.config_view import ConfigView, config_view
from mosaic.gui.state.runs_again import edited_again
from mosaic.gui.tabs.lineage_line import LineageLine
from mosaic.gui.tabs.opening import copy_text, open_file
from mosaic.gui.tabs.settings_tree import SettingsTree
from mosaic.gui.tabs.tab_page import TabPage
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.widgets.segmented import Segmented
from mosaic.gui.workbench import Workbench

SETTINGS, JSON = "settings", "json"
_WHICH_WIDTH = 150


class ConfigTab(TabPage):
    def __init__(self, workbench: Workbench) -> None:
        content = QWidget()
        super().__init__(workbench, "tune-variant", content)
        self._record: RunRecord | None = None
        self._view: ConfigView | None = None
        self.which = Segmented(((SETTINGS, "Settings"), (JSON, "JSON")))
        self.which.chosen.connect(self._on_which)
        self.which.setMinimumWidth(_WHICH_WIDTH)
        self.search = QLineEdit()
        self.search.setPlaceholderText("Search settings")
        self.search.setAccessibleName("Search settings")
        self.search.setClearButtonEnabled(True)
        self.search.textChanged.connect(self._fill_tree)
        self.changed = label(role="caption")
        self.notes = label()
        self.notes.setWordWrap(True)
        self.lineage = LineageLine(workbench)
        self.tree = SettingsTree(workbench.theme)
        self.nothing_found = label("No setting has these words.", "muted")
        self.json = with_role(QPlainTextEdit(), "code")
        self.json.setReadOnly(True)
        self.json.setAccessibleName("The config as JSON")
        self.json.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self._stack = QStackedLayout()
        self._lay_out(content)
        workbench.state.catalogue_changed.connect(self._on_catalogue_changed)
        self.say("Loading the config…")

    def show_run(self, record: RunRecord) -> None:
        is_other = self._record is None or self._record.run_id != record.run_id
        self._record = record
        if not record.config:
            self.say(
                "The config cannot be read any more",
                "Its file may be gone or damaged; the run itself and its curves are not.",
            )
            return
        self.show_content()
        if is_other:
            self.search.clear()
        if self.is_active:
            self._show_view(config_view(record, self.workbench.state.algorithms))
            self.lineage.show_run(record, self._view.parent if self._view else "")

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active and self._record is not None:
            self.show_run(self._record)
        if not is_active:
            self.lineage.stop()

    def _lay_out(self, content: QWidget) -> None:
        top = QHBoxLayout()
        top.setSpacing(8)
        top.addWidget(self.which)
        top.addWidget(self.search, 1)
        self.copy_button = QPushButton("Copy")
        self.copy_button.setToolTip("Copy the config as JSON")
        self.copy_button.clicked.connect(self._on_copy)
        self.open_button = QPushButton("Open file")
        self.open_button.clicked.connect(self._on_open)
        self.edit_button = QPushButton("Edit and resubmit")
        self.edit_button.setToolTip("Fills the form on the left with these settings")
        self.edit_button.clicked.connect(self._on_edit)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.edit_button)
        buttons.addStretch(1)
        buttons.addWidget(self.copy_button)
        buttons.addWidget(self.open_button)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(top)
        layout.addWidget(self.notes)
        layout.addWidget(self.lineage)
        layout.addWidget(self.changed)
        layout.addLayout(self._stack, 1)
        # Filled when it has a place: before, Qt would open a window for its first page.
        self._stack.addWidget(self.tree)
        self._stack.addWidget(self.json)
        layout.addWidget(self.nothing_found)
        layout.addLayout(buttons)

    def _show_view(self, view: ConfigView) -> None:
        """Once a second for a run that goes on; nothing moves where nothing is different."""
        if view == self._view:
            return
        self._view = view
        self.notes.setText(view.notes)
        self.notes.setVisible(bool(view.notes))
        self.changed.setText(_changed_text(view.changed))
        self.changed.setVisible(view.changed > 0)
        self.open_button.setVisible(bool(view.path))
        self.open_button.setToolTip(view.path)
        if self.json.toPlainText() != view.text:
            self.json.setPlainText(view.text)
        self._fill_tree()

    def _fill_tree(self, *_: object) -> None:
        if self._view is None:
            return
        words = self.search.text()
        groups = self._view.found(words)
        self.tree.show_groups(groups, is_search=bool(words.strip()))
        self.nothing_found.setVisible(not groups)

    def _on_which(self, value: str) -> None:
        is_json = value == JSON
        self._stack.setCurrentWidget(self.json if is_json else self.tree)
        self.search.setEnabled(not is_json)

    def _on_catalogue_changed(self) -> None:
        if self._record is not None:
            self.show_run(self._record)

    def _on_copy(self) -> None:
        if self._view is not None:
            copy_text(self.workbench, self._view.text, "Config")

    def _on_open(self) -> None:
        if self._view is not None and self._view.path:
            open_file(self.workbench, Path(self._view.path))

    def _on_edit(self) -> None:
        if self._record is not None:
            self.workbench.state.ask_form(edited_again(self._record))


def _changed_text(number: int) -> str:
    noun = "parameter differs" if number == 1 else "parameters differ"
    return f"{number} {noun} from the algorithm's defaults"
