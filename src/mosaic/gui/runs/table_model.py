"""RunsTableModel: the runs as a table for Qt, with rows made only for what is looked at."""

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
from mosaic.gui.runs.model.columns import HELP, NUMBERS, Column, ColumnChoice
from mosaic.gui.runs.model.filter import RunsFilter
from mosaic.gui.runs.model.groups import GroupRow, group_details, group_key, group_name, group_row
from mosaic.gui.runs.model.order import RunsOrder
from mosaic.gui.runs.model.rows import RunRow, details_of, row_of
from mosaic.gui.runs.model.settings import KnownSettings
from mosaic.gui.runs.pattern import Pattern
from mosaic.gui.state.runs_state import RunsState

Index = QModelIndex | QPersistentModelIndex

_BATCH_MS = 100
# New runs appear at once, but a thousand at a time are arranged together.
ARRANGE_S = 0.5
_DOWN, _UP = " ▾", " ▴"
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)


def _labels_of_record(record: RunRecord) -> tuple[object, ...]:
    return record.run_name, record.tags, " ".join(record.note.split()), record.pinned


def _labels_of(row: RunRow) -> tuple[object, ...]:
    return row.name, row.tags, row.remark, "pin" in row.marks


class RunsTableModel(QAbstractTableModel):
    arranged = Signal()  # other rows, or in another order: what was selected is to be found anew
    counted = Signal()  # the panel's heading may have to say something else
    columns_changed = Signal()

    def __init__(self, runs: RunsState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._runs = runs
        self.settings = KnownSettings()
        self.choice = ColumnChoice()
        self._order = RunsOrder(self.settings)
        self._pattern: Pattern | None = None
        self._ids: list[str] = []  # of runs, and keys of groups
        self._places: dict[str, int] = {}
        self._rows: dict[str, RunRow] = {}
        self._group_rows: dict[str, GroupRow] = {}
        self._group_of: dict[str, str] = {}
        self._changed_groups: set[str] = set()
        self._are_numbers: dict[str, bool] = {}  # by setting
        self.longest: dict[int, str] = {}  # text of a column
        self.most_tags = 0
        self._has_grown = False
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
        return 0 if parent.isValid() else self.choice.count

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.DisplayRole:
            return self.text(index.row(), index.column())
        if role == Qt.ItemDataRole.ToolTipRole:
            return self._details(index.row())
        if role == Qt.ItemDataRole.AccessibleTextRole:
            text = self.text(index.row(), index.column())
            return None if text is None else f"{self.choice.title(index.column())} {text}".strip()
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            arrow = _DOWN if self._order.is_descending else _UP
            return self.choice.title(section) + (arrow if section == self._order.column else "")
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if self.is_number(section) else _LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            name = self.choice.setting(section)
            return HELP.get(Column(section)) if name is None else f"{name}, of the run's config"
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._order.column = column
        self._order.setting = self.choice.setting(column) or ""
        self._order.is_descending = order == Qt.SortOrder.DescendingOrder
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)
        self._arrange()

    # What the panel asks

    @property
    def run_ids(self) -> list[str]:
        """Of the runs that have a row, in order."""
        return [item for item in self._ids if group_name(item) is None]

    @property
    def is_filtered(self) -> bool:
        return not self._order.filter.is_empty

    @property
    def filter_problem(self) -> str:
        return self._pattern.problem if self._pattern else ""

    @property
    def summary(self) -> str:
        if not self.is_filtered:
            return self._order.summary()
        folded = sum(
            len(runs) for name, runs in self._order.groups.items() if name in self._order.folded
        )
        shown = len(self._ids) - len(self._order.groups) + folded
        return self._order.summary(shown)

    @property
    def is_grouped(self) -> bool:
        return self._order.is_grouped

    @property
    def groups(self) -> dict[str, list[str]]:
        return self._order.groups

    @property
    def sorted_by(self) -> tuple[int, bool]:
        """The column, and whether the highest come first."""
        return self._order.column, self._order.is_descending

    def place(self, run_id: str) -> int | None:
        """None for one that is not shown."""
        return self._places.get(run_id)

    def place_of_row(self, run_id: str) -> int | None:
        """That of its folded group, where it has no row of its own."""
        place = self._places.get(run_id)
        return self.place_of_group(run_id) if place is None else place

    def place_of_group(self, run_id: str) -> int | None:
        name = self._group_of.get(run_id)
        return None if name is None else self._places.get(group_key(name))

    def group_around(self, row: int) -> str | None:
        """The name of the group that this row is, or is part of."""
        if not 0 <= row < len(self._ids):
            return None
        return group_name(self._ids[row]) or self._group_of.get(self._ids[row])

    def record_at(self, row: int) -> RunRecord | None:
        """None for the row of a group."""
        return self._runs.get(self._ids[row]) if 0 <= row < len(self._ids) else None

    def group_at(self, row: int) -> GroupRow | None:
        """None for the row of a run."""
        name = group_name(self._ids[row]) if 0 <= row < len(self._ids) else None
        return None if name is None else self.group(name)

    def ids_at(self, row: int) -> list[str]:
        """The run of this row, or all runs of its group."""
        if not 0 <= row < len(self._ids):
            return []
        name = group_name(self._ids[row])
        return [self._ids[row]] if name is None else self._order.groups.get(name, [])

    def is_member(self, run_id: str) -> bool:
        """Whether it stands below the row of its group."""
        return run_id in self._group_of

    def row(self, record: RunRecord) -> RunRow:
        found = self._rows.get(record.run_id)
        if found is None:
            found = self._rows[record.run_id] = row_of(record)
        return found

    def group(self, name: str) -> GroupRow | None:
        found = self._group_rows.get(name)
        if found is None:
            runs = self._order.groups.get(name, ())
            records = [record for run in runs if (record := self._runs.get(run)) is not None]
            if not records:
                return None
            found = self._group_rows[name] = group_row(name, records)
        return found

    def text(self, row: int, column: int) -> str | None:
        record = self.record_at(row)
        if record is not None:
            name = self.choice.setting(column)
            if name is None:
                return self.row(record).text(column)
            return self.settings.text(record, name)[0]
        group = self.group_at(row)
        if group is None:
            return None
        setting = self.choice.setting(column)
        return group.text(column) if setting is None else self.shared_text(group, setting)

    def shared_text(self, group: GroupRow, setting: str) -> str:
        """The value that all runs of a group have; else that they differ."""
        records = [record for run in group.run_ids if (record := self._runs.get(run)) is not None]
        texts = {self.settings.text(record, setting)[0] for record in records}
        return texts.pop() if len(texts) == 1 else "…" if texts else ""

    def is_number(self, column: int) -> bool:
        """Whether its values stand on the right."""
        name = self.choice.setting(column)
        if name is None:
            return Column(column) in NUMBERS
        found = self._are_numbers.get(name)
        if found is None:
            found = self._are_numbers[name] = self._holds_numbers(name)
        return found

    def _holds_numbers(self, name: str) -> bool:
        records = (self._runs.get(item) for item in self._ids[:50])
        values = [self.settings.value(record, name)[0] for record in records if record is not None]
        known = [value for value in values if value is not None]
        return bool(known) and all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in known
        )

    def set_filter(self, text: str, is_pattern: bool = False) -> None:
        wanted = RunsFilter.parse(text, is_pattern=is_pattern)
        if wanted != self._order.filter:
            self._order.filter = wanted
            self._pattern = Pattern(wanted.pattern) if wanted.pattern else None
            is_usable = self._pattern is not None and not self._pattern.mistake
            self._order.search = self._pattern.found if is_usable and self._pattern else None
            self._arrange()

    def set_grouped(self, is_grouped: bool) -> None:
        if is_grouped != self._order.is_grouped:
            self._order.is_grouped = is_grouped
            self._arrange()

    def fold(self, name: str, is_folded: bool) -> None:
        if is_folded != self.is_folded(name):
            (self._order.folded.add if is_folded else self._order.folded.discard)(name)
            self._arrange()

    def is_folded(self, name: str) -> bool:
        return name in self._order.folded

    def fold_all(self, is_folded: bool) -> None:
        self._order.folded = set(self._order.groups) if is_folded else set()
        self._arrange()

    def choose_columns(self, choice: ColumnChoice) -> None:
        if choice == self.choice:
            return
        sorted_by = self._order.setting
        is_other = choice.settings != self.choice.settings
        if is_other:
            self.beginResetModel()
        self.choice = choice
        if is_other:
            self.endResetModel()
            if sorted_by in choice.settings:
                self._order.column = len(Column) + choice.settings.index(sorted_by)
            elif sorted_by:
                self._order.column, self._order.setting = Column.STARTED, ""
                self._arrange()
            self.arranged.emit()
        self.columns_changed.emit()

    def take_settings(self, run_ids: Iterable[str]) -> None:
        """Settings of these have become known."""
        self._are_numbers.clear()
        self._order.forget(run_ids)
        if self.is_filtered or self._order.setting:
            self._is_stale = True
            self._wake()
        if self.choice.settings and self._ids:
            self._tell_all()
            self.columns_changed.emit()

    def refresh(self) -> None:
        """Takes in what has changed since the last time."""
        changed, self._changed = self._changed, set()
        for run_id in changed:
            self._rows.pop(run_id, None)
            self._forget_group(run_id)
        records = [record for run in changed if (record := self._runs.get(run)) is not None]
        since_s = time.monotonic() - self._arranged_at
        needs_arranging = self._order.needs_arranging(records, since_s)
        self._order.forget(changed)
        if self._has_grown:
            self._has_grown = False
            self.columns_changed.emit()
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
            if record is None:
                name = group_name(self._ids[place])
                if name is not None and self._group_rows.pop(name, None) != self.group(name):
                    self._tell((self._ids[place],))
            elif (made := row_of(record, now)) != self._rows.get(record.run_id):
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

    def _details(self, row: int) -> str | None:
        record = self.record_at(row)
        if record is not None:
            return details_of(record)
        group = self.group_at(row)
        if group is None:
            return None
        records = [record for run in group.run_ids if (record := self._runs.get(run)) is not None]
        return group_details(group, (record.run_name for record in records))

    def _on_changed(self, run_ids: frozenset[str]) -> None:
        self._changed |= run_ids
        for run_id in run_ids:
            record, row = self._runs.get(run_id), self._rows.get(run_id)
            if record is None:
                continue
            # What somebody has just pinned, renamed or tagged may belong elsewhere now.
            if row is not None and _labels_of(row) != _labels_of_record(record):
                self._is_stale = True
            self._measure(record)
        self._wake()

    def _on_removed(self, run_ids: frozenset[str]) -> None:
        for run_id in run_ids:
            self._rows.pop(run_id, None)
            self._forget_group(run_id)
        self._order.forget(run_ids)
        self.settings.forget(run_ids)
        # At once: a row without its run must not be painted.
        self._arrange()

    def _measure(self, record: RunRecord) -> None:
        """Columns are as wide as their longest text; they never shrink under one's hands."""
        longest = self.longest
        for column, text in (
            (Column.NAME, record.run_name),
            (Column.ENVIRONMENT, record.env_id),
            (Column.TAGS, "".join(record.tags)),
            (Column.NOTE, record.note),
        ):
            if len(text) > len(longest.get(column, "")):
                longest[column] = text
                self._has_grown = True
        if len(record.tags) > self.most_tags:
            self.most_tags = len(record.tags)
            self._has_grown = True

    def _forget_group(self, run_id: str) -> None:
        name = self._group_of.get(run_id)
        if name is not None and self._group_rows.pop(name, None) is not None:
            self._changed_groups.add(name)

    def _wake(self) -> None:
        if self.is_awake and not self._batch.isActive():
            self._batch.start()

    def _arrange(self) -> None:
        ids = self._order.arranged(self._runs.newest_first())
        self._is_stale = False
        self._arranged_at = time.monotonic()
        self._group_of = {run: name for name, runs in self._order.groups.items() for run in runs}
        self._group_rows.clear()
        self._are_numbers.clear()
        if ids != self._ids:
            self.beginResetModel()
            self._ids = ids
            self._places = {run_id: place for place, run_id in enumerate(ids)}
            self.endResetModel()
            self.arranged.emit()
        elif ids:
            self._tell_all()
        self.counted.emit()

    def _tell_all(self) -> None:
        last = self.index(len(self._ids) - 1, self.columnCount() - 1)
        self.dataChanged.emit(self.index(0, 0), last)

    def _tell(self, items: Iterable[str]) -> None:
        groups = {group_key(name) for name in self._changed_groups}
        self._changed_groups.clear()
        last = self.columnCount() - 1
        for item in (*items, *groups):
            place = self._places.get(item)
            if place is not None:
                self.dataChanged.emit(self.index(place, 0), self.index(place, last))
