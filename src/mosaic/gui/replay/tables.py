"""The tables beside the picture: the steps of an episode, and where both of them are."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QObject, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.replay.controls import KEYS
from mosaic.gui.replay.episode_list import EpisodeList
from mosaic.gui.replay.model.episode import COLUMNS, EpisodeSteps
from mosaic.gui.replay.rows import Index, Rows
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import label
from mosaic.gui.widgets.rows_view import RowsView


class StepModel(Rows):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(theme, COLUMNS, parent)
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


_VALUE, _END = 4, 5
_WIDE_STEPS, _END_WIDTH, _VALUE_WIDTH = 280, 100, 80


class StepTable(QWidget):
    """Every step of the episode, following the picture; a click goes there."""

    chosen = Signal(int)  # a step

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_following = False
        self._has_values = False
        self.table = RowsView(KEYS)
        self.table.setObjectName("step-table")
        self.table.setAccessibleName("Steps of the episode")
        self.model = StepModel(theme, self)
        self.table.setModel(self.model)
        columns = self.table.horizontalHeader()
        columns.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        columns.setSectionResizeMode(_END, QHeaderView.ResizeMode.Fixed)
        columns.resizeSection(_END, _END_WIDTH)
        self.table.selectionModel().currentRowChanged.connect(self._on_row_chosen)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.table)
        self._fit_columns()

    def show_steps(self, steps: EpisodeSteps | None) -> None:
        self.model.show(steps)
        self._has_values = steps is not None and bool(steps.values)
        self._fit_columns()

    def show_step(self, step: int) -> None:
        """Follows the picture without going anywhere itself."""
        index = self.model.index(step, 0)
        if not index.isValid() or index.row() == self.table.currentIndex().row():
            return
        self._is_following = True
        self.table.selectRow(step)
        self._is_following = False
        self.table.scrollTo(index, QAbstractItemView.ScrollHint.EnsureVisible)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        """Where there is little room for all, the end of the episode is left to the other table."""
        needed = _WIDE_STEPS + _VALUE_WIDTH * self._has_values
        self.table.setColumnHidden(_VALUE, not self._has_values)
        self.table.setColumnHidden(_END, self.width() < needed)

    def _on_row_chosen(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid() and not self._is_following:
            self.chosen.emit(current.row())


# From this width of the page on, steps have a place of their own on the right.
_WIDE_PAGE = 900
_NARROW_SIDE, _WIDE_SIDE = 208, 340


class SideTables(QObject):
    """The two tables beside the picture; where there is little room, one at a time."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.episodes, self.steps = EpisodeList(workbench), StepTable(workbench.theme)
        self.choice = Segmented((("episodes", "Episodes"), ("steps", "Steps")))
        self.choice.chosen.connect(self.show_table)
        self._is_wide: bool | None = None
        self._is_shown = True
        self.left, self.right = QWidget(), QWidget()
        tables = QWidget()
        self._stack = QStackedLayout(tables)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self.episodes)
        self._steps_page = QWidget()
        self._narrow_place = QVBoxLayout(self._steps_page)
        self._narrow_place.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self._steps_page)
        left = QVBoxLayout(self.left)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(8)
        left.addWidget(self.choice)
        left.addWidget(tables, 1)
        self._wide_place = QVBoxLayout(self.right)
        self._wide_place.setContentsMargins(0, 0, 0, 0)
        self._wide_place.setSpacing(8)
        self._wide_place.addWidget(label("Steps", "section"))
        self.fit(0)

    def show_table(self, name: str) -> None:
        self.choice.choose(name)
        self._stack.setCurrentIndex(0 if name == "episodes" or self._is_wide else 1)

    def set_shown(self, is_shown: bool) -> None:
        """Two pictures need the room."""
        self._is_shown = is_shown
        self.left.setVisible(is_shown)
        self.right.setVisible(is_shown and bool(self._is_wide))

    def fit(self, width: int) -> None:
        is_wide = width >= _WIDE_PAGE
        if is_wide == self._is_wide:
            return
        self._is_wide = is_wide
        side = _WIDE_SIDE if is_wide else _NARROW_SIDE
        self.left.setFixedWidth(side)
        self.right.setFixedWidth(side)
        self.right.setVisible(is_wide and self._is_shown)
        self.choice.setVisible(not is_wide)
        (self._wide_place if is_wide else self._narrow_place).addWidget(self.steps)
        self.steps.show()
        self.show_table(self.choice.value)
