"""ConfigTab: what the run was started with, where it comes from, and what became of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QStackedLayout,
    QTreeWidget,
    QTreeWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.run_config.model import (
    ConfigView,
    Setting,
    SettingGroup,
    config_view,
    lineage_lines,
)
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.rerun import edit_target
from mosaic.gui.tabs.desktop import copy_text, open_file
from mosaic.gui.tabs.run_tab import TabPage
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import label, with_role

_ROW = QSize(0, 24)
_GROUP_ROW = QSize(0, 30)
_NAME_WIDTH = 192
_MONO_SIZE = 11
_CLOSED = ("Ran on", "History")  # long, and seldom looked for


class SettingsTree(QTreeWidget):
    """Groups of settings, those that somebody changed marked."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._groups: tuple[SettingGroup, ...] = ()
        self._closed = set(_CLOSED)
        self._is_search = False
        self.setAccessibleName("Settings of the run")
        self.setColumnCount(2)
        self.setHeaderHidden(True)
        self.setIndentation(12)
        self.setUniformRowHeights(False)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        header = self.header()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Interactive)
        header.resizeSection(0, _NAME_WIDTH)
        self.itemCollapsed.connect(self._on_collapsed)
        self.itemExpanded.connect(self._on_expanded)
        theme.changed.connect(self._fill)

    def show_groups(self, groups: Sequence[SettingGroup], *, is_search: bool) -> None:
        if tuple(groups) == self._groups and is_search == self._is_search:
            return
        self._groups, self._is_search = tuple(groups), is_search
        self._fill()

    def shown_settings(self) -> list[tuple[str, str]]:
        found = []
        groups = [self.topLevelItem(index) for index in range(self.topLevelItemCount())]
        for group in groups:
            items = [group.child(row) for row in range(group.childCount())] if group else []
            found += [(item.text(0), item.text(1)) for item in items if item is not None]
        return found

    def _fill(self) -> None:
        place = self.verticalScrollBar().value()
        self.blockSignals(True)
        self.clear()
        for group in self._groups:
            title = QTreeWidgetItem([group.title])
            font = QFont(self.font())
            font.setWeight(QFont.Weight.DemiBold)
            title.setFont(0, font)
            title.setSizeHint(0, _GROUP_ROW)
            title.addChildren([self._item(setting) for setting in group.settings])
            self.addTopLevelItem(title)
            title.setFirstColumnSpanned(True)
            title.setExpanded(self._is_search or group.title not in self._closed)
        self.blockSignals(False)
        self.verticalScrollBar().setValue(place)

    def _item(self, setting: Setting) -> QTreeWidgetItem:
        palette = self._theme.palette
        value = setting.value
        if setting.is_changed:
            value = f"{value} (default {setting.default})"
        item = QTreeWidgetItem([setting.name, value])
        item.setSizeHint(0, _ROW)
        item.setFont(1, self._theme.mono_font(_MONO_SIZE))
        item.setForeground(0, QColor(palette.text if setting.is_changed else palette.muted))
        if setting.is_changed:
            item.setForeground(1, QColor(palette.accent))
        elif setting.is_default:
            item.setForeground(1, QColor(palette.muted))
        lines = (f"{setting.name}: {value}", setting.help)
        item.setToolTip(0, "\n".join(line for line in lines if line))
        item.setToolTip(1, item.toolTip(0))
        item.setTextAlignment(1, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        return item

    def _on_collapsed(self, item: QTreeWidgetItem) -> None:
        self._closed.add(item.text(0))

    def _on_expanded(self, item: QTreeWidgetItem) -> None:
        if not self._is_search:
            self._closed.discard(item.text(0))


_RELATION_WIDTH = 80


class LineageLine(QWidget):
    """The run that this one continues, and those that continue it, as links."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._shown: tuple[tuple[str, tuple[str, ...]], ...] = ()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self.hide()

    def show_run(self, record: RunRecord) -> None:
        lines = lineage_lines(record, self._workbench.state.runs.newest_first())
        if lines == self._shown:
            return
        self._shown = lines
        while item := self._layout.takeAt(0):
            if widget := item.widget():
                widget.deleteLater()
        for name, runs in lines:
            self._layout.addWidget(self._line(name, runs))
        self.setVisible(bool(lines))

    def links(self) -> list[QPushButton]:
        return self.findChildren(QPushButton)

    def _line(self, name: str, runs: tuple[str, ...]) -> QWidget:
        line = QWidget()
        row = QHBoxLayout(line)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        title = label(name, "muted")
        title.setMinimumWidth(_RELATION_WIDTH)
        row.addWidget(title, 0, Qt.AlignmentFlag.AlignTop)
        links = QVBoxLayout()
        links.setSpacing(0)
        for run_id in runs:
            links.addWidget(self._link(run_id), 0, Qt.AlignmentFlag.AlignLeft)
        row.addLayout(links, 1)
        return line

    def _link(self, run_id: str) -> QWidget:
        known = self._workbench.state.runs.get(run_id)
        if known is None:
            return label(f"{run_id} (deleted)", "muted")
        link = with_role(QPushButton(known.run_name or run_id), "link")
        link.setToolTip(f"Select run {run_id}")
        state = self._workbench.state
        link.clicked.connect(lambda *_: state.select([run_id]))
        return link


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
            self.lineage.show_run(record)

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active and self._record is not None:
            self.show_run(self._record)

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
        """Once a second for a live run; what has not changed does not move."""
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
            self.workbench.state.ask_form(edit_target(self._record))


def _changed_text(number: int) -> str:
    noun = "parameter differs" if number == 1 else "parameters differ"
    return f"{number} {noun} from the algorithm's defaults"
