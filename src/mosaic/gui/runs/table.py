"""RunsTable: the table of runs. What is selected in it is what the workbench shows."""

from __future__ import annotations

from PySide6.QtCore import (
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import (
    QContextMenuEvent,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from mosaic.gui.runs.model.rows import Column, column_widths
from mosaic.gui.runs.row_delegate import ROW_HEIGHT, RowDelegate
from mosaic.gui.runs.table_model import RunsTableModel
from mosaic.gui.services.workbench import Workbench

_TICK_MS = 1000
_UNSORTED = (Column.COLOUR, Column.ACTIONS)
_Flag = QItemSelectionModel.SelectionFlag


class RunsTable(QTableView):
    action_asked = Signal(str, str)  # RunAction, run id
    menu_asked = Signal(QPoint)  # on the screen
    opened = Signal(str)  # run id: Enter, or a double click
    delete_asked = Signal()

    def __init__(self, workbench: Workbench, model: RunsTableModel, parent: QWidget | None = None):
        super().__init__(parent)
        self._workbench, self._runs_model = workbench, model
        self._is_following = False  # the state's selection, rather than the person's
        self.setObjectName("runs-table")
        self.setAccessibleName("Runs")
        self.setModel(model)
        self._delegate = RowDelegate(model, workbench.state, workbench.theme, self)
        self.setItemDelegate(self._delegate)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._set_up_headers()
        self._clock = QTimer(self)
        self._clock.setInterval(_TICK_MS)
        self._clock.timeout.connect(self._on_tick)
        self.selectionModel().selectionChanged.connect(self._on_selected)
        self.selectionModel().currentRowChanged.connect(self._on_selected)
        model.arranged.connect(self._on_arranged)
        workbench.state.selection_changed.connect(self._on_state_selection)
        workbench.theme.changed.connect(self.viewport().update)

    def _set_up_headers(self) -> None:
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setMinimumSectionSize(ROW_HEIGHT)
        rows.setDefaultSectionSize(ROW_HEIGHT)
        columns.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        columns.setMinimumSectionSize(20)
        columns.setHighlightSections(False)
        columns.setSectionsClickable(True)
        columns.sectionClicked.connect(self._on_header_clicked)
        self._sorted_by = (Column.STARTED, Qt.SortOrder.DescendingOrder)

    def sort_by(self, column: Column, order: Qt.SortOrder) -> None:
        self._sorted_by = (column, order)
        self._runs_model.sort(column, order)

    # What happens to the widget

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        current = self.currentIndex()
        if current.isValid() and self.visualRect(current).top() < event.oldSize().height():
            self.scrollTo(current)  # it was in sight, and stays so when a card takes its room
        widths = column_widths(self.viewport().width())
        for column in Column:
            self.setColumnHidden(column, column not in widths)
            if column in widths:
                self.setColumnWidth(column, widths[column])

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._clock.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._clock.stop()
        super().hideEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open(self.currentIndex())
        elif event.key() == Qt.Key.Key_Delete:
            self.delete_asked.emit()
        elif event.key() == Qt.Key.Key_Escape:
            event.ignore()  # the window leaves a page with it; the selection stays
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        point = event.position().toPoint()
        index = self.indexAt(point)
        slot = self._slot_at(index, point)
        self._hover(index.row(), slot)
        self.viewport().setCursor(
            Qt.CursorShape.PointingHandCursor if slot >= 0 else Qt.CursorShape.ArrowCursor
        )

    def leaveEvent(self, event: object) -> None:
        self._hover(-1, -1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        index = self.indexAt(point)
        slot = self._slot_at(index, point)
        record = self._runs_model.record_at(index.row())
        if event.button() != Qt.MouseButton.LeftButton or slot < 0 or record is None:
            super().mousePressEvent(event)
            return
        action = self._delegate.action_at(record, slot)
        if action is not None:
            self.action_asked.emit(action.value, record.run_id)
        else:
            self._ask_menu(index, self.viewport().mapToGlobal(point))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        index = self.indexAt(point)
        if self._slot_at(index, point) < 0:
            super().mouseDoubleClickEvent(event)
            self._open(index)
        else:
            self.mousePressEvent(event)  # two quick clicks on a picture are two clicks

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if event.reason() == QContextMenuEvent.Reason.Mouse:
            self._ask_menu(self.indexAt(event.pos()), event.globalPos())
            return
        index = self.currentIndex()
        corner = self.visualRect(index).bottomLeft() + QPoint(24, 0)
        self._ask_menu(index, self.viewport().mapToGlobal(corner))

    # Selection, both ways

    def _on_selected(self, *_: object) -> None:
        if not self._is_following:
            self._workbench.state.select(self.selected_ids())

    def selected_ids(self) -> list[str]:
        """The leading one first: that is where the person was last."""
        ids = self._runs_model.run_ids
        parts = self.selectionModel().selection().toList()
        chosen = [ids[row] for part in parts for row in range(part.top(), part.bottom() + 1)]
        current = self.currentIndex().row()
        if 0 <= current < len(ids) and ids[current] in chosen:
            return list(dict.fromkeys((ids[current], *chosen)))
        return list(dict.fromkeys(chosen))

    def _on_state_selection(self, selection: tuple[str, ...]) -> None:
        if list(selection) != self.selected_ids():
            self._show_selection(selection)
            lead = self._runs_model.place(selection[0]) if selection else None
            if lead is not None:
                self.scrollTo(self._runs_model.index(lead, 0))
        self.viewport().update()  # colours may be others

    def _on_arranged(self) -> None:
        self._show_selection(self._workbench.state.selection)

    def _show_selection(self, run_ids: tuple[str, ...]) -> None:
        model, last = self._runs_model, len(Column) - 1
        places = sorted(place for run in run_ids if (place := model.place(run)) is not None)
        chosen = QItemSelection()
        begin = 0
        for end in range(1, len(places) + 1):
            if end == len(places) or places[end] != places[end - 1] + 1:
                first, final = places[begin], places[end - 1]
                chosen.select(model.index(first, 0), model.index(final, last))
                begin = end
        self._is_following = True
        try:
            lead = model.place(run_ids[0]) if run_ids else None
            index = QModelIndex() if lead is None else model.index(lead, Column.NAME)
            self.selectionModel().setCurrentIndex(index, _Flag.NoUpdate)
            self.selectionModel().select(chosen, _Flag.ClearAndSelect)
        finally:
            self._is_following = False

    # Small things

    def _on_tick(self) -> None:
        height = self.viewport().height()
        first, last = self.rowAt(0), self.rowAt(height - 1)
        if first >= 0:
            self._runs_model.tick(first, last if last >= 0 else self._runs_model.rowCount() - 1)

    def _on_header_clicked(self, section: int) -> None:
        column, (before, order) = Column(section), self._sorted_by
        if column in _UNSORTED:
            return
        if column is before and order == Qt.SortOrder.DescendingOrder:
            self.sort_by(column, Qt.SortOrder.AscendingOrder)
        else:
            self.sort_by(column, Qt.SortOrder.DescendingOrder)

    def _slot_at(self, index: QModelIndex, point: QPoint) -> int:
        record = self._runs_model.record_at(index.row())
        if record is None or index.column() != Column.ACTIONS:
            return -1
        slot = self._delegate.slot_at(self.visualRect(index), point)
        is_there = slot == 0 or self._delegate.action_at(record, slot) is not None
        return slot if is_there else -1

    def _hover(self, row: int, slot: int) -> None:
        if (row, slot) != (self._delegate.hovered_row, self._delegate.hovered_slot):
            self._delegate.hovered_row, self._delegate.hovered_slot = row, slot
            self.viewport().update()

    def _open(self, index: QModelIndex) -> None:
        record = self._runs_model.record_at(index.row())
        if record is not None:
            self.opened.emit(record.run_id)

    def _ask_menu(self, index: QModelIndex, at: QPoint) -> None:
        """About what is selected; a row outside of that is selected first."""
        record = self._runs_model.record_at(index.row())
        if record is None:
            return
        if record.run_id not in self._workbench.state.selection:
            self._workbench.state.select((record.run_id,))
        self.menu_asked.emit(at)
