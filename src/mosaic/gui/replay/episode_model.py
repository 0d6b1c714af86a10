"""The models behind the two tables of a replay: episodes of a run, steps of an episode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from mosaic.contracts.events import EpisodeSummary
from mosaic.gui.state.replay_steps import COLUMNS as STEP_COLUMNS
from mosaic.gui.state.replay_steps import EpisodeSteps
from mosaic.gui.state.replay_words import EPISODE_COLUMNS, episode_cells
from mosaic.gui.theme.theme import Theme

Index = QModelIndex | QPersistentModelIndex
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
# Columns of words; all others are numbers.
_WORDS = frozenset({"Action", "End", "Ended"})


class _Rows(QAbstractTableModel):
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


class EpisodeModel(_Rows):
    """Asks for more when somebody scrolls down to where there is more."""

    def __init__(self, theme: Theme, ask: Callable[[], None], parent: QObject) -> None:
        super().__init__(theme, EPISODE_COLUMNS, parent)
        self._ask = ask
        self._episodes: list[EpisodeSummary] = []
        self.is_all = True
        self.is_asking = False

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() else len(self._episodes)

    def canFetchMore(self, parent: Index) -> bool:
        return not parent.isValid() and not self.is_all and not self.is_asking

    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            self.is_asking = True
            self._ask()

    def clear(self) -> None:
        self.beginResetModel()
        self._episodes = []
        self.is_all = self.is_asking = False
        self.endResetModel()

    def add(self, page: list[EpisodeSummary], is_all: bool) -> None:
        self.is_asking, self.is_all = False, is_all
        if page:
            first = len(self._episodes)
            self.beginInsertRows(QModelIndex(), first, first + len(page) - 1)
            self._episodes += page
            self.endInsertRows()

    def episode(self, row: int) -> EpisodeSummary | None:
        return self._episodes[row] if 0 <= row < len(self._episodes) else None

    def row_of(self, episode_index: int) -> int:
        """-1: not among those that are loaded."""
        rows = enumerate(self._episodes)
        return next((row for row, item in rows if item.episode_index == episode_index), -1)

    def _cells(self, row: int) -> tuple[str, ...]:
        return episode_cells(self._episodes[row])


class StepModel(_Rows):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(theme, STEP_COLUMNS, parent)
        self._steps: EpisodeSteps | None = None

    def show(self, steps: EpisodeSteps | None) -> None:
        self.beginResetModel()
        self._steps = steps
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or self._steps is None else len(self._steps) + 1

    def _cells(self, row: int) -> tuple[str, ...]:
        assert self._steps is not None
        return self._steps.cells(row)
