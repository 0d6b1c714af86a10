"""TableView: a small table that is as high as its rows, within a page that scrolls."""

from __future__ import annotations

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor, QPixmap, QWheelEvent
from PySide6.QtWidgets import QAbstractScrollArea, QHeaderView, QWidget

from mosaic.gui.state.compare_tables import Table
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.passing_table import PassingTable

Index = QModelIndex | QPersistentModelIndex
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_SWATCH = 10
_HEADER = 28
_ROW = 26


class _Model(QAbstractTableModel):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(parent)
        self.table = Table((), ())
        self._font = theme.mono_font(12)

    def show(self, table: Table) -> None:
        self.beginResetModel()
        self.table = table
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as Qt has it)
        return 0 if parent.isValid() else len(self.table.rows)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self.table.columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation != Qt.Orientation.Horizontal or section >= len(self.table.columns):
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.table.columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in self.table.numbers else _LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        row, column = index.row(), index.column()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.table.rows[row][column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column in self.table.numbers else _LEFT
        if role == Qt.ItemDataRole.FontRole and column in self.table.numbers:
            return self._font
        if role == Qt.ItemDataRole.DecorationRole and column == 0 and self.table.colours:
            return swatch(self.table.colours[row])
        return None


class TableView(PassingTable):
    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self.setAccessibleName(name)
        self.setSelectionMode(PassingTable.SelectionMode.NoSelection)
        self.setSizeAdjustPolicy(QAbstractScrollArea.SizeAdjustPolicy.AdjustIgnored)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._model = _Model(theme, self)
        self.setModel(self._model)
        self.horizontalHeader().setMinimumSectionSize(44)

    @property
    def table(self) -> Table:
        return self._model.table

    def show_table(self, table: Table) -> None:
        self._model.show(table)
        header = self.horizontalHeader()
        modes = QHeaderView.ResizeMode
        for column in range(len(table.columns)):
            is_wide = column in table.wide
            header.setSectionResizeMode(
                column, modes.Stretch if is_wide else modes.ResizeToContents
            )
        self.setFixedHeight(_HEADER + _ROW * len(table.rows) + 4)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the page scrolls, not the table


def swatch(colour: str) -> QPixmap:
    found = QPixmap(_SWATCH, _SWATCH)
    found.fill(QColor(colour))
    return found
