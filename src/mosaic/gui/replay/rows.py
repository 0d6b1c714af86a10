"""Rows: what the tables of a replay have in common."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from mosaic.gui.theme.theme import Theme

Index = QModelIndex | QPersistentModelIndex
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
# Columns of words; all others are numbers.
_WORDS = frozenset({"Action", "End", "Ended", "Goal"})


class Rows(QAbstractTableModel):
    def __init__(self, theme: Theme, columns: tuple[str, ...], parent: QObject) -> None:
        super().__init__(parent)
        self._columns = columns
        self._font = theme.mono_font(12)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (as Qt has it)
        return 0 if parent.isValid() else len(self._columns)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self._columns):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._columns[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(section)
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cells(index.row())[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._alignment(index.column())
        if role == Qt.ItemDataRole.FontRole:
            return self._font
        if role == Qt.ItemDataRole.ToolTipRole:
            pairs = zip(self._columns, self._cells(index.row()), strict=True)
            return " · ".join(f"{name.lower()} {cell}" for name, cell in pairs if cell)
        return None

    def _alignment(self, column: int) -> int:
        return _LEFT if self._columns[column] in _WORDS else _RIGHT

    def _cells(self, row: int) -> tuple[str, ...]:
        raise NotImplementedError
