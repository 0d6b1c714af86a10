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

from mosaic.gui.runs.header import RunsHeader
from mosaic.gui.runs.model.columns import UNSORTED, Column, column_widths, natural_width
from mosaic.gui.runs.model.groups import group_key
from mosaic.gui.runs.rename_field import RenameField
from mosaic.gui.runs.row_delegate import ROW_HEIGHT, RowDelegate
from mosaic.gui.runs.table_model import RunsTableModel
from mosaic.gui.runs.thumbnails import THUMBNAIL, Thumbnails
from mosaic.gui.services.workbench import Workbench

_TICK_MS = 1000
_FOLDING = (Qt.Key.Key_Left, Qt.Key.Key_Right)
_Flag = QItemSelectionModel.SelectionFlag


class RunsTable(QTableView):
    action_asked = Signal(str, str)  # RunAction, run id
    menu_asked = Signal(QPoint)  # on the screen
    columns_asked = Signal(QPoint)
    opened = Signal(str)  # run id: Enter, or a double click
    delete_asked = Signal()
    renamed = Signal(str, str)  # run id, and what it shall be called

    def __init__(self, workbench: Workbench, model: RunsTableModel, parent: QWidget | None = None):
        super().__init__(parent)
        self._workbench, self._runs_model = workbench, model
        self._is_following = False  # the state's selection, rather than the person's
        self._is_arranging = False  # columns, rather than the person
        self.setObjectName("runs-table")
        self.setAccessibleName("Runs")
        self._headings = RunsHeader(self)
        self.setHorizontalHeader(self._headings)
        self.setModel(model)
        self.thumbnails = Thumbnails(workbench, self)
        self.thumbnails.changed.connect(self._on_picture)
        self._delegate = RowDelegate(model, workbench.state, workbench.theme, self.thumbnails, self)
        self.setItemDelegate(self._delegate)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self._set_up_headers()
        self.rename_field = RenameField(self.viewport())
        self.rename_field.given.connect(self.renamed)
        self._clock = QTimer(self)
        self._clock.setInterval(_TICK_MS)
        self._clock.timeout.connect(self._on_tick)
        self.selectionModel().selectionChanged.connect(self._on_selected)
        self.selectionModel().currentRowChanged.connect(self._on_selected)
        model.arranged.connect(self._on_arranged)
        model.columns_changed.connect(self.arrange_columns)
        self.verticalScrollBar().valueChanged.connect(self._place_rename_field)
        workbench.state.selection_changed.connect(self._on_state_selection)
        workbench.state.colours_changed.connect(self._on_colours_changed)
        workbench.state.runs.removed.connect(self.thumbnails.forget)
        workbench.theme.changed.connect(self.viewport().update)

    def _set_up_headers(self) -> None:
        rows, columns = self.verticalHeader(), self._headings
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setMinimumSectionSize(ROW_HEIGHT)
        rows.setDefaultSectionSize(ROW_HEIGHT)
        columns.customContextMenuRequested.connect(
            lambda point: self.columns_asked.emit(columns.mapToGlobal(point))
        )
        columns.sectionClicked.connect(self._on_header_clicked)
        columns.sectionMoved.connect(self._on_column_moved)
        columns.sectionHandleDoubleClicked.connect(self._on_edge_double_clicked)
        columns.dragged.connect(self._fill_up)
        columns.widened.connect(self._on_widened)

    def sort_by(self, column: int, order: Qt.SortOrder) -> None:
        self._runs_model.sort(column, order)

    def rename(self, run_id: str) -> None:
        """In place: the name becomes a field."""
        record = self._workbench.state.runs.get(run_id)
        place = self._runs_model.place_of_row(run_id)
        if record is None:
            return
        if place is not None:
            self.scrollTo(self._runs_model.index(place, Column.NAME))
        self.rename_field.begin(run_id, record.run_name)
        self._place_rename_field()

    # Columns

    def arrange_columns(self) -> None:
        if self._headings.is_dragged:
            return  # when it is let go
        choice, header = self._runs_model.choice, self._headings
        widths = column_widths(self.viewport().width(), choice, self._delegate.content_widths())
        self._is_arranging = True
        header.hold_fixed()
        try:
            for place, number in enumerate(choice.visual_order):
                at = header.visualIndex(number)
                if at != place:
                    header.moveSection(at, place)
            for number in range(choice.count):
                self.setColumnHidden(number, number not in widths)
                if number in widths:
                    self.setColumnWidth(number, widths[number])
        finally:
            self._is_arranging = False
        height = THUMBNAIL.height() + 6 if Column.PICTURE in widths else ROW_HEIGHT
        if height != self.verticalHeader().defaultSectionSize():
            self.verticalHeader().setDefaultSectionSize(height)
        self._place_rename_field()

    def _on_column_moved(self, *_: object) -> None:
        """By the person, who has dragged its heading."""
        if self._is_arranging:
            return
        header, choice = self._headings, self._runs_model.choice
        order = [header.logicalIndex(place) for place in range(choice.count)]
        self._runs_model.choose_columns(choice.reordered(order))
        self.arrange_columns()  # those that stay at the ends

    def _on_widened(self, column: int, width: int) -> None:
        self._runs_model.choose_columns(self._runs_model.choice.widened(column, width))
        self.arrange_columns()

    def _on_edge_double_clicked(self, column: int) -> None:
        self._on_widened(column, natural_width(column, self._delegate.content_widths()))

    def _fill_up(self) -> None:
        """Right of what is dragged, the empty column takes what is left."""
        header = self._headings
        others = header.length() - header.sectionSize(Column.SPACE)
        header.resizeSection(Column.SPACE, max(0, self.viewport().width() - others))

    # What happens to the widget

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        current = self.currentIndex()
        if current.isValid() and self.visualRect(current).top() < event.oldSize().height():
            self.scrollTo(current)  # it was in sight, and stays so when a card takes its room
        self.arrange_columns()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._clock.start()
        self.thumbnails.start()

    def hideEvent(self, event: QHideEvent) -> None:
        self._clock.stop()
        self.thumbnails.stop()
        super().hideEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        group = self._runs_model.group_around(self.currentIndex().row())
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._open(self.currentIndex())
        elif event.key() == Qt.Key.Key_Delete:
            self.delete_asked.emit()
        elif event.key() == Qt.Key.Key_Escape:
            event.ignore()  # the window leaves a page with it; the selection stays
        elif event.key() in _FOLDING and group is not None:
            self._runs_model.fold(group, event.key() == Qt.Key.Key_Left)
        else:
            super().keyPressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        point = event.position().toPoint()
        index = self.indexAt(point)
        slot = self._slot_at(index, point)
        self._hover(index.row(), slot)
        is_button = slot >= 0 or self._is_on_arrow(index, point)
        self.viewport().setCursor(
            Qt.CursorShape.PointingHandCursor if is_button else Qt.CursorShape.ArrowCursor
        )

    def leaveEvent(self, event: object) -> None:
        self._hover(-1, -1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        index = self.indexAt(point)
        group = self._runs_model.group_at(index.row())
        is_left = event.button() == Qt.MouseButton.LeftButton
        if is_left and group is not None and self._is_on_arrow(index, point):
            self._runs_model.fold(group.name, not self._runs_model.is_folded(group.name))
            return
        slot = self._slot_at(index, point)
        if not is_left or slot < 0:
            super().mousePressEvent(event)
            return
        record = self._runs_model.record_at(index.row())
        action = self._delegate.action_at(record, slot) if record is not None else None
        if action is not None and record is not None:
            self.action_asked.emit(action.value, record.run_id)
        else:
            self._ask_menu(index, self.viewport().mapToGlobal(point))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        point = event.position().toPoint()
        index = self.indexAt(point)
        if self._slot_at(index, point) < 0 and not self._is_on_arrow(index, point):
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
        """The leading one first: that is where the person was last. A group stands for its runs."""
        model = self._runs_model
        parts = self.selectionModel().selection().toList()
        rows = {row for part in parts for row in range(part.top(), part.bottom() + 1)}
        chosen = [run for row in sorted(rows) for run in model.ids_at(row)]
        current = self.currentIndex().row()
        lead = model.ids_at(current) if current in rows else []
        return list(dict.fromkeys((*lead[:1], *chosen)))

    def _on_state_selection(self, selection: tuple[str, ...]) -> None:
        if list(selection) != self.selected_ids():
            self._show_selection(selection)
            lead = self._runs_model.place_of_row(selection[0]) if selection else None
            if lead is not None:
                self.scrollTo(self._runs_model.index(lead, 0))
        self.viewport().update()  # colours may be others

    def _on_colours_changed(self) -> None:
        self.viewport().update()

    def _on_arranged(self) -> None:
        self._show_selection(self._workbench.state.selection)
        self.arrange_columns()

    def _show_selection(self, run_ids: tuple[str, ...]) -> None:
        model, last = self._runs_model, self._runs_model.columnCount() - 1
        wanted = set(run_ids)
        found = {place for run in run_ids if (place := model.place(run)) is not None}
        for name, runs in model.groups.items():
            # A group is selected when all its runs are.
            if wanted.issuperset(runs) and (place := model.place(group_key(name))) is not None:
                found.add(place)
        places = sorted(found)
        chosen = QItemSelection()
        begin = 0
        for end in range(1, len(places) + 1):
            if end == len(places) or places[end] != places[end - 1] + 1:
                first, final = places[begin], places[end - 1]
                chosen.select(model.index(first, 0), model.index(final, last))
                begin = end
        self._is_following = True
        try:
            lead = self._lead_place(run_ids, found)
            index = QModelIndex() if lead is None else model.index(lead, Column.NAME)
            self.selectionModel().setCurrentIndex(index, _Flag.NoUpdate)
            self.selectionModel().select(chosen, _Flag.ClearAndSelect)
        finally:
            self._is_following = False

    def _lead_place(self, run_ids: tuple[str, ...], found: set[int]) -> int | None:
        """Where the person is: on the row of a group they have chosen, or on that of a run."""
        if not run_ids:
            return None
        current = self.currentIndex().row()
        if current in found and run_ids[0] in self._runs_model.ids_at(current)[:1]:
            return current
        group = self._runs_model.place_of_group(run_ids[0])
        return group if group in found else self._runs_model.place(run_ids[0])

    # Small things

    def _on_tick(self) -> None:
        height = self.viewport().height()
        first, last = self.rowAt(0), self.rowAt(height - 1)
        if first >= 0:
            self._runs_model.tick(first, last if last >= 0 else self._runs_model.rowCount() - 1)

    def _on_header_clicked(self, section: int) -> None:
        if section in UNSORTED:
            return
        before, is_descending = self._runs_model.sorted_by
        if section == before and is_descending:
            self.sort_by(section, Qt.SortOrder.AscendingOrder)
        else:
            self.sort_by(section, Qt.SortOrder.DescendingOrder)

    def _on_picture(self, run_id: str) -> None:
        place = self._runs_model.place(run_id)
        if place is not None and not self.isColumnHidden(Column.PICTURE):
            self.viewport().update(self.visualRect(self._runs_model.index(place, Column.PICTURE)))

    def _place_rename_field(self) -> None:
        if not self.rename_field.isVisible():
            return
        place = self._runs_model.place(self.rename_field.run_id)
        if place is not None:
            self.rename_field.setGeometry(
                self.visualRect(self._runs_model.index(place, Column.NAME)).adjusted(2, 1, -2, -1)
            )

    def _slot_at(self, index: QModelIndex, point: QPoint) -> int:
        if not index.isValid() or index.column() != Column.ACTIONS:
            return -1
        slot = self._delegate.slot_at(self.visualRect(index), point)
        record = self._runs_model.record_at(index.row())
        is_action = record is not None and self._delegate.action_at(record, slot) is not None
        return slot if slot == 0 or is_action else -1

    def _is_on_arrow(self, index: QModelIndex, point: QPoint) -> bool:
        is_group = index.isValid() and self._runs_model.group_at(index.row()) is not None
        if not is_group or index.column() != Column.NAME:
            return False
        return self._delegate.is_on_arrow(self.visualRect(index), point)

    def _hover(self, row: int, slot: int) -> None:
        if (row, slot) != (self._delegate.hovered_row, self._delegate.hovered_slot):
            self._delegate.hovered_row, self._delegate.hovered_slot = row, slot
            self.viewport().update()

    def _open(self, index: QModelIndex) -> None:
        record = self._runs_model.record_at(index.row())
        group = self._runs_model.group_at(index.row())
        if record is not None:
            self.opened.emit(record.run_id)
        elif group is not None:
            self._runs_model.fold(group.name, not self._runs_model.is_folded(group.name))

    def _ask_menu(self, index: QModelIndex, at: QPoint) -> None:
        """About what is selected; a row outside of that is selected first."""
        runs = self._runs_model.ids_at(index.row())
        if not runs:
            return
        if not set(runs) <= set(self._workbench.state.selection):
            self._workbench.state.select(runs)
        self.menu_asked.emit(at)
