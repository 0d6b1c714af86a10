"""RunsModel: the runs as a table for Qt, with rows made only for what is looked at."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    QTimer,
    Signal,
)

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.runs.model.order import RunsFilter, RunsOrder
from mosaic.gui.runs.model.rows import HELP, NUMBERS, TITLES, Column, RunRow, details_of, row_of
from mosaic.gui.state.runs_state import RunsState

Index = QModelIndex | QPersistentModelIndex

_BATCH_MS = 100
# New runs appear at once, but a thousand at a time are arranged together.
ARRANGE_S = 0.5
_DOWN, _UP = " ▾", " ▴"
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


class RunsTableModel(QAbstractTableModel):
    arranged = Signal()  # other rows, or in another order: what was selected is to be found anew
    counted = Signal()  # the panel's heading may have to say something else

    def __init__(self, runs: RunsState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self._order = RunsOrder()
        self._ids: list[str] = []
        self._places: dict[str, int] = {}
        self._rows: dict[str, RunRow] = {}
        self._changed: set[str] = set()
        self._is_stale = True
        self._arranged_at = 0.0
        self._batch = QTimer(self)
        self._batch.setSingleShot(True)
        self._batch.setInterval(_BATCH_MS)
        self._batch.timeout.connect(self.refresh)
        runs.changed.connect(self._on_changed)
        runs.removed.connect(self._on_removed)
        self.is_awake = True

    # What the view asks

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 (Qt's signature)
        return 0 if parent.isValid() else len(self._ids)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(Column)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        record = self.record_at(index.row())
        if record is None:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.row(record).text(Column(index.column()))
        if role == Qt.ItemDataRole.ToolTipRole:
            return details_of(record)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            column = Column(index.column())
            return f"{TITLES[column]} {self.row(record).text(column)}".strip()
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        column = Column(section)
        if role == Qt.ItemDataRole.DisplayRole:
            arrow = _DOWN if self._order.is_descending else _UP
            return TITLES[column] + (arrow if column is self._order.column else "")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if column in NUMBERS else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            return HELP.get(column)
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._order.column = Column(column)
        self._order.is_descending = order == Qt.SortOrder.DescendingOrder
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(Column) - 1)
        self._arrange()

    # What the panel asks

    @property
    def run_ids(self) -> list[str]:
        return self._ids

    @property
    def is_filtered(self) -> bool:
        return not self._order.filter.is_empty

    @property
    def summary(self) -> str:
        return self._order.summary(len(self._ids) if self.is_filtered else None)

    def place(self, run_id: str) -> int | None:
        """None for one that is not shown."""
        return self._places.get(run_id)

    def record_at(self, row: int) -> RunRecord | None:
        return self._runs.get(self._ids[row]) if 0 <= row < len(self._ids) else None

    def row(self, record: RunRecord) -> RunRow:
        found = self._rows.get(record.run_id)
        if found is None:
            found = self._rows[record.run_id] = row_of(record)
        return found

    def set_filter(self, text: str) -> None:
        wanted = RunsFilter.parse(text)
        if wanted != self._order.filter:
            self._order.filter = wanted
            self._arrange()

    def refresh(self) -> None:
        """Takes in what has changed since the last time."""
        changed, self._changed = self._changed, set()
        for run_id in changed:
            self._rows.pop(run_id, None)
        records = [record for run in changed if (record := self._runs.get(run)) is not None]
        since_s = time.monotonic() - self._arranged_at
        needs_arranging = self._order.needs_arranging(records, since_s)
        self._order.forget(changed)
        if self._is_stale or needs_arranging:
            if since_s >= ARRANGE_S:
                self._arrange()
                return
            self._is_stale = True
            self._wake()
        self._tell(changed)

    def tick(self, first: int, last: int) -> None:
        """Time passes: visible rows are rebuilt, and reported where they differ."""
        now = time.time()
        for place in range(max(0, first), min(last, len(self._ids) - 1) + 1):
            record = self.record_at(place)
            if record is not None and (made := row_of(record, now)) != self._rows.get(
                record.run_id
            ):
                self._rows[record.run_id] = made
                self._tell((record.run_id,))

    def sleep(self) -> None:
        """Not visible: nothing is computed until `wake`."""
        self.is_awake = False
        self._batch.stop()

    def wake(self) -> None:
        self.is_awake = True
        if self._changed or self._is_stale:
            self._wake()

    def _on_changed(self, run_ids: frozenset[str]) -> None:
        self._changed |= run_ids
        self._wake()

    def _on_removed(self, run_ids: frozenset[str]) -> None:
        for run_id in run_ids:
            self._rows.pop(run_id, None)
        self._order.forget(run_ids)
        # At once: a row without its run must not be painted.
        self._arrange()

    def _wake(self) -> None:
        if self.is_awake and not self._batch.isActive():
            self._batch.start()

    def _arrange(self) -> None:
        ids = self._order.arranged(self._runs.newest_first())
        self._is_stale = False
        self._arranged_at = time.monotonic()
        if ids != self._ids:
            self.beginResetModel()
            self._ids = ids
            self._places = {run_id: place for place, run_id in enumerate(ids)}
            self.endResetModel()
            self.arranged.emit()
        elif ids:
            self.dataChanged.emit(self.index(0, 0), self.index(len(ids) - 1, len(Column) - 1))
        self.counted.emit()

    def _tell(self, run_ids: Iterable[str]) -> None:
        last = len(Column) - 1
        for run_id in run_ids:
            place = self._places.get(run_id)
            if place is not None:
                self.dataChanged.emit(self.index(place, 0), self.index(place, last))
