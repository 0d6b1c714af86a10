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
from mosaic.gui.replay.mind_view import MindView
from mosaic.gui.replay.model.episode import COLUMNS, EpisodeSteps
from mosaic.gui.replay.model.mind import EpisodeMind
from mosaic.gui.replay.rows import Index, Rows
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import label
from mosaic.gui.widgets.rows_view import RowsView


class StepModel(Rows):
    def __init__(self, theme: Theme, parent: QObject) -> None:
        super().__init__(theme, (*COLUMNS, "Goal"), parent)
        self._steps: EpisodeSteps | None = None
        self._mind: EpisodeMind | None = None

    def show(self, steps: EpisodeSteps | None) -> None:
        self.beginResetModel()
        self._steps, self._mind = steps, None
        self.endResetModel()

    def show_mind(self, mind: EpisodeMind | None) -> None:
        """What was told of the same steps."""
        self._mind = mind
        if self.rowCount():
            last = self.index(self.rowCount() - 1, _GOAL)
            self.dataChanged.emit(self.index(0, _GOAL), last)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.isValid() or self._steps is None else len(self._steps) + 1

    def _cells(self, row: int) -> tuple[str, ...]:
        assert self._steps is not None
        goal = self._mind.goal_cell(row) if self._mind is not None else ""
        return (*self._steps.cells(row), goal)


_RETURN, _VALUE, _END, _GOAL = 3, 4, 5, 6
_WIDE_STEPS, _END_WIDTH, _VALUE_WIDTH = 330, 100, 80
# Beside goals, which are words, numbers have no more than they need.
_NUMBER_WIDTH, _GOALS_FROM, _RETURNS_FROM = 56, 280, 380


class StepTable(QWidget):
    """Every step of the episode, following the picture; a click goes there."""

    chosen = Signal(int)  # a step

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_following = False
        self._has_values = self._has_goals = False
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
        self._has_goals = False
        self._fit_columns()

    def show_mind(self, mind: EpisodeMind | None) -> None:
        self.model.show_mind(mind)
        self._has_goals = mind is not None and mind.has_goals
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
        has_goals = self._has_goals and self.width() >= _GOALS_FROM
        needed = _WIDE_STEPS + _VALUE_WIDTH * self._has_values
        self.table.setColumnHidden(_VALUE, not self._has_values)
        # It stands below the picture, too.
        self.table.setColumnHidden(_RETURN, has_goals and self.width() < _RETURNS_FROM)
        self.table.setColumnHidden(_END, has_goals or self.width() < needed)
        self.table.setColumnHidden(_GOAL, not has_goals)
        modes, columns = QHeaderView.ResizeMode, self.table.horizontalHeader()
        for column in range(_END):
            columns.setSectionResizeMode(column, modes.Fixed if has_goals else modes.Stretch)
            if has_goals:
                columns.resizeSection(column, _NUMBER_WIDTH)

    def _on_row_chosen(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid() and not self._is_following:
            self.chosen.emit(current.row())


# From this width of the page on, steps have a place of their own on the right.
_WIDE_PAGE = 976
_NARROW_SIDE, _WIDE_LEFT, _WIDE_RIGHT = 208, 340, 308


_EPISODES, _STEPS, _MIND = "episodes", "steps", "mind"


class SideTables(QObject):
    """The two tables beside the picture, and the agent's mind where its run tells of one.

    Where there is little room, one of the three at a time; else the episodes on the left, and on
    the right the steps or the mind.
    """

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.episodes, self.steps = EpisodeList(workbench), StepTable(workbench.theme)
        self.mind = MindView(workbench.theme)
        self.choice = Segmented(((_EPISODES, "Episodes"), (_STEPS, "Steps"), (_MIND, "Mind")))
        self.wide_choice = Segmented(((_STEPS, "Steps"), (_MIND, "Mind")))
        self._is_wide: bool | None = None
        self._is_shown, self._has_mind = True, False
        self.left, self.right = QWidget(), QWidget()
        # A page for the episodes, and one each for what is on the right where there is room.
        tables, beside = QWidget(), QWidget()
        self._stack, self._beside = QStackedLayout(tables), QStackedLayout(beside)
        self._pages: dict[str, QWidget] = {_STEPS: self.steps, _MIND: self.mind}
        self._stack.addWidget(self.episodes)
        left = QVBoxLayout(self.left)
        left.setContentsMargins(0, 0, 0, 0)
        left.setSpacing(8)
        left.addWidget(self.choice)
        left.addWidget(tables, 1)
        right = QVBoxLayout(self.right)
        right.setContentsMargins(0, 0, 0, 0)
        right.setSpacing(8)
        self._steps_title = label("Steps", "section")
        right.addWidget(self._steps_title)
        right.addWidget(self.wide_choice)
        right.addWidget(beside, 1)
        self.choice.chosen.connect(self.show_table)
        self.wide_choice.chosen.connect(self.show_table)
        self.fit(0)
        self.set_mind(False)

    def show_table(self, name: str) -> None:
        self.choice.choose(name)
        if name != _EPISODES:
            self.wide_choice.choose(name)
        if self._is_wide:
            self._stack.setCurrentWidget(self.episodes)
            self._beside.setCurrentWidget(self._pages[self.wide_choice.value])
        else:
            self._stack.setCurrentWidget(self._pages.get(name, self.episodes))

    def set_mind(self, has_mind: bool) -> None:
        """Whether there is one to be shown."""
        self._has_mind = has_mind
        self.choice.button(_MIND).setVisible(has_mind)
        self.wide_choice.setVisible(has_mind)
        self._steps_title.setVisible(not has_mind)
        if not has_mind and _MIND in (self.choice.value, self.wide_choice.value):
            self.show_table(_STEPS)

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
        self.left.setFixedWidth(_WIDE_LEFT if is_wide else _NARROW_SIDE)
        self.right.setFixedWidth(_WIDE_RIGHT)
        self.right.setVisible(is_wide and self._is_shown)
        self.choice.setVisible(not is_wide)
        place = self._beside if is_wide else self._stack
        for page in self._pages.values():
            place.addWidget(page)
        self.show_table(self.choice.value)
