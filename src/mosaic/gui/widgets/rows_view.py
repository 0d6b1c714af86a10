"""PassingTable: a table of rows that leaves some keys to the page it is on."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

_ROW_HEIGHT = 26


class RowsView(QTableView):
    def __init__(self, passed: Iterable[Qt.Key] = (), parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._passed = frozenset(passed)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(_ROW_HEIGHT)
        columns = self.horizontalHeader()
        columns.setHighlightSections(False)
        columns.setSectionsClickable(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in self._passed:
            event.ignore()
        else:
            super().keyPressEvent(event)
