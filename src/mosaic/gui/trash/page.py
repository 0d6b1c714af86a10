"""TrashPage: what was deleted, when it goes for good, and the ways back."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, QTimer
from PySide6.QtGui import QColor
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QPushButton,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.keeping import TrashedRun
from mosaic.errors import MosaicError
from mosaic.front.human import amount, size
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity, notice_of, sentence_of
from mosaic.gui.trash.model import (
    NUMBERS,
    SECONDS_TO_UNDO,
    TITLES,
    TrashRow,
    found,
    going_text,
    summary,
    trash_rows,
)
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.roles import eliding_label, label, with_role
from mosaic.gui.widgets.rows_view import RowsView
from mosaic.gui.widgets.stage_page import BackButton, StagePage

_AGAIN_MS = 5000
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
Index = QModelIndex | QPersistentModelIndex


class TrashTable(QAbstractTableModel):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.rows: list[TrashRow] = []
        self.muted = QColor()

    def show_rows(self, rows: list[TrashRow]) -> None:
        """Rows that are the same runs as before stay selected."""
        if [row.run_id for row in rows] == [row.run_id for row in self.rows]:
            self.rows = rows
            if rows:
                last = self.index(len(rows) - 1, len(TITLES) - 1)
                self.dataChanged.emit(self.index(0, 0), last)
            return
        self.beginResetModel()
        self.rows = rows
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(TITLES)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return row.cells[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if index.column() in NUMBERS else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return f"{row.run_id}\n{row.cells[0]}"
        if role == Qt.ItemDataRole.ForegroundRole and (row.is_going or index.column()):
            return self.muted
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return TITLES[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in NUMBERS else _LEFT
        return None


class TrashPage(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("trash-page")
        self._workbench = workbench
        self._runs: list[TrashedRun] = []
        self._going: dict[str, TrashedRun] = {}  # for good, when the time to undo is over
        self._asking: Task | None = None
        self.back_button = BackButton(workbench.theme, workbench.state.leave_page)
        self.subtitle = eliding_label("", "caption")
        self.filter_field = QLineEdit()
        self.filter_field.setObjectName("trash-filter")
        self.filter_field.setPlaceholderText("filter…")
        self.filter_field.setAccessibleName("Filter the trash")
        self.filter_field.setClearButtonEnabled(True)
        self.filter_field.setMaximumWidth(200)
        self.filter_field.textChanged.connect(self._show)
        self.restore_button = with_role(QPushButton("Restore"), "primary")
        self.restore_button.setObjectName("trash-restore")
        self.restore_button.clicked.connect(self.restore_selected)
        self.delete_button = QPushButton("Delete for good")
        self.delete_button.setObjectName("trash-delete")
        self.delete_button.clicked.connect(self.delete_selected)
        self.empty_button = QPushButton("Empty the trash")
        self.empty_button.setObjectName("trash-empty")
        self.empty_button.clicked.connect(self.empty_all)
        self.table = RowsView((Qt.Key.Key_Escape,))
        self.table.setObjectName("trash-table")
        self.table.setAccessibleName("Deleted runs")
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.model = TrashTable(self)
        self.table.setModel(self.model)
        self.table.selectionModel().selectionChanged.connect(self._show_possible)
        self.table.doubleClicked.connect(self.restore_selected)
        self.message = EmptyState(workbench.theme, "trash-can-outline", "")
        self._undo_timer = QTimer(self)
        self._undo_timer.setSingleShot(True)
        self._undo_timer.setInterval(int(SECONDS_TO_UNDO * 1000))
        self._undo_timer.timeout.connect(self._delete_now)
        self._again = QTimer(self)
        self._again.setInterval(_AGAIN_MS)
        self._again.timeout.connect(self._ask)
        self._lay_out()
        workbench.theme.changed.connect(self._draw)
        workbench.state.runs.removed.connect(self._on_runs_changed)
        workbench.state.runs.changed.connect(self._on_restored)
        self._draw()
        self._show()

    def _lay_out(self) -> None:
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(label("Trash", "section"))
        words.addWidget(self.subtitle)
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.back_button)
        head.addLayout(words, 1)
        head.addWidget(self.filter_field)
        foot = QHBoxLayout()
        foot.setSpacing(8)
        foot.addWidget(self.restore_button)
        foot.addWidget(self.delete_button)
        foot.addStretch(1)
        foot.addWidget(self.empty_button)
        stack = QWidget()
        self._stack = QStackedLayout(stack)
        self._stack.addWidget(self.message)
        self._stack.addWidget(self.table)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addWidget(stack, 1)
        layout.addLayout(foot)

    # StagePage

    def open(self) -> None:
        self._ask()
        self._again.start()
        self.table.setFocus()

    def leave(self) -> None:
        """What was to go for good stays: only whoever looks on may lose it."""
        self._again.stop()
        self._undo_timer.stop()
        self._going.clear()
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    # What the person does

    def selected_ids(self) -> list[str]:
        chosen = self.table.selectionModel().selectedRows()
        return [self.model.rows[index.row()].run_id for index in chosen]

    def restore_selected(self) -> None:
        chosen = self.selected_ids()
        if chosen:
            self._keep(chosen)
            self._workbench.run_actions.restore(chosen, selects=False)

    def delete_selected(self) -> None:
        self._doom(self.selected_ids())

    def empty_all(self) -> None:
        self._doom(run.run_id for run in self._runs)

    def _doom(self, run_ids: Iterable[str]) -> None:
        known = {run.run_id: run for run in self._runs}
        self._going.update({run: known[run] for run in run_ids if run in known})
        if not self._going:
            return
        self._undo_timer.start()
        self._workbench.state.say(
            Notice(
                going_text(list(self._going.values())),
                action=self._keep_all,
                action_text="Undo",
                seconds=SECONDS_TO_UNDO,
            )
        )
        self._show()

    def _keep_all(self) -> None:
        self._keep(list(self._going))

    def _keep(self, run_ids: Iterable[str]) -> None:
        for run_id in run_ids:
            self._going.pop(run_id, None)
        if not self._going:
            self._undo_timer.stop()
        self._show()

    def _delete_now(self) -> None:
        chosen = list(self._going)
        self._going.clear()
        if chosen:
            self._workbench.bridge.ask(
                lambda client: client.empty_trash(chosen), self._on_emptied, self._on_failed
            )

    def _on_emptied(self, answer: tuple[int, int]) -> None:
        freed, count = answer
        text = f"{amount(count, 'run')} deleted for good, {size(freed)} freed"
        self._workbench.state.say(Notice(text, Severity.GOOD))
        self._ask()

    def _on_failed(self, error: MosaicError) -> None:
        self._workbench.state.say(notice_of(error))
        self._ask()

    # What it shows

    def _on_runs_changed(self, _: object) -> None:
        if self.isVisible():
            self._ask()

    def _on_restored(self, run_ids: frozenset[str]) -> None:
        if self.isVisible() and not run_ids.isdisjoint({run.run_id for run in self._runs}):
            self._ask()

    def _ask(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        self._asking = self._workbench.bridge.ask(
            lambda client: client.trash(), self._on_listed, self._on_not_listed
        )

    def _on_listed(self, runs: list[TrashedRun]) -> None:
        self._runs = runs
        self._show()

    def _on_not_listed(self, error: MosaicError) -> None:
        self._runs = []
        self._show()
        self.message.show_text("The trash cannot be read", sentence_of(error))

    def _show(self) -> None:
        chosen = set(self.selected_ids())
        shown = found(self._runs, self.filter_field.text())
        self.model.show_rows(trash_rows(shown, self._going))
        self._select(chosen)
        self.subtitle.setText(summary(self._runs, len(shown)))
        if not self._runs:
            text = "Runs that you delete wait here for some days, and can be restored."
            self.message.show_text("The trash is empty", text)
        elif not shown:
            self.message.show_text("No deleted run matches", "Clear the filter to see all of them.")
        self._stack.setCurrentWidget(self.table if shown else self.message)
        self._show_possible()

    def _select(self, run_ids: set[str]) -> None:
        if set(self.selected_ids()) == run_ids:
            return
        selection = self.table.selectionModel()
        flags = selection.SelectionFlag
        for place, row in enumerate(self.model.rows):
            if row.run_id in run_ids:
                selection.select(self.model.index(place, 0), flags.Select | flags.Rows)

    def _show_possible(self, *_: object) -> None:
        chosen = self.selected_ids()
        for button in (self.restore_button, self.delete_button):
            button.setEnabled(bool(chosen))
            button.setToolTip("" if chosen else "Select one run or more")
        self.empty_button.setEnabled(bool(self._runs))

    def _draw(self) -> None:
        self.model.muted = QColor(self._workbench.theme.palette.muted)
