"""The two tables beside the picture: the episodes of a run, and the steps of one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.events import EpisodeSummary
from mosaic.errors import MosaicError
from mosaic.gui.replay.controls import KEYS
from mosaic.gui.replay.model import COLUMNS as STEP_COLUMNS
from mosaic.gui.replay.model import (
    EPISODE_COLUMNS,
    EpisodeSteps,
    episode_cells,
    loaded_text,
    new_episodes_text,
)
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.widgets.rows_view import RowsView

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


_END = 4
_WIDE_STEPS, _END_WIDTH = 280, 100


class StepTable(QWidget):
    """Every step of the episode, following the picture; a click goes there."""

    chosen = Signal(int)  # a step

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_following = False
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

    def show_steps(self, steps: EpisodeSteps | None) -> None:
        self.model.show(steps)

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
        self.table.setColumnHidden(_END, self.width() < _WIDE_STEPS)

    def _on_row_chosen(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid() and not self._is_following:
            self.chosen.emit(current.row())


PAGE = 200


class EpisodePager:
    """The episodes of a run, a page at a time, in the order that is wanted.

    Pages are asked for one after the other, each when the one before has come.
    """

    def __init__(self, run_id: str, order: str) -> None:
        self.run_id, self.order = run_id, order
        self.is_all = False
        self._rows: AsyncGenerator[EpisodeSummary, None] | None = None

    async def next_page(self, client: AsyncTrainerClient) -> list[EpisodeSummary]:
        if self._rows is None:
            self._rows = client.episodes(self.run_id, 0, self.order)
        page: list[EpisodeSummary] = []
        async for row in self._rows:
            page.append(row)
            if len(page) == PAGE:
                return page
        self.is_all = True
        return page


_ORDERS = (("newest", "Newest first"), ("best", "Best first"), ("worst", "Worst first"))
# What a jump is called, and the order in which that episode is the first.
_JUMPS = (("Last", "newest"), ("Best", "best"), ("Worst", "worst"))
_SEED, _ENDED = 3, 4
_WIDE, _ENDED_WIDTH = 300, 100


class EpisodeList(QWidget):
    """The episodes of a run, more of them as one scrolls."""

    chosen = Signal(int)  # the index of an episode
    loaded = Signal()  # the first page is there

    def __init__(self, workbench: Workbench, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._run_id = ""
        self._pager: EpisodePager | None = None
        self._asking: Task | None = None
        self._jumping: Task | None = None
        self._current = -1
        self._is_marking = False
        self._listed_at = 0  # this many were finished when the list was read
        self.order = QComboBox()
        self.order.setObjectName("episode-order")
        self.order.setAccessibleName("Order of the episodes")
        for value, text in _ORDERS:
            self.order.addItem(text, value)
        self.order.currentIndexChanged.connect(self._on_order_chosen)
        self.table = RowsView(KEYS)
        self.table.setObjectName("episode-table")
        self.table.setAccessibleName("Episodes")
        self.model = EpisodeModel(workbench.theme, self._ask, self)
        self.table.setModel(self.model)
        columns = self.table.horizontalHeader()
        columns.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        columns.setSectionResizeMode(_ENDED, QHeaderView.ResizeMode.Fixed)
        columns.resizeSection(_ENDED, _ENDED_WIDTH)
        self.table.selectionModel().currentRowChanged.connect(self._on_row_chosen)
        self.count = label("", "caption")
        self.news = with_role(QPushButton(), "flat")
        self.news.setObjectName("new-episodes")
        self.news.setToolTip("Read the list again")
        self.news.clicked.connect(self._begin)
        self.news.hide()
        jumps = QHBoxLayout()
        jumps.setSpacing(4)
        for text, order in _JUMPS:
            button = QPushButton(text)
            button.setObjectName(f"jump-{text.lower()}")
            button.setToolTip(f"Show the {text.lower()} episode of the run")
            button.clicked.connect(lambda _=False, order=order: self.jump(order))
            jumps.addWidget(button, 1)
        foot = QHBoxLayout()
        foot.addWidget(self.count, 1)
        foot.addWidget(self.news)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.order)
        layout.addLayout(jumps)
        layout.addWidget(self.table, 1)
        layout.addLayout(foot)

    def show_run(self, run_id: str) -> None:
        """Nothing is asked again when it is shown already."""
        if run_id != self._run_id:
            self._run_id = run_id
            self._current = -1
            self._begin()

    def show_current(self, episode_index: int) -> None:
        """The one that is played, marked without being chosen once more."""
        self._current = episode_index
        self._mark()

    def show_finished(self, episodes: int) -> None:
        """This many are finished by now."""
        text = new_episodes_text(self._listed_at, episodes) if self._listed_at else ""
        self.news.setText(text)
        self.news.setVisible(bool(text))
        self._show_count()

    def jump(self, order: str) -> None:
        """To the first one in that order, wherever the list stands."""
        pager = EpisodePager(self._run_id, order)
        if self._jumping is not None:
            self._jumping.cancel()
        self._jumping = self._workbench.bridge.ask(pager.next_page, self._on_jump)

    def leave(self) -> None:
        for task in (self._asking, self._jumping):
            if task is not None:
                task.cancel()
        self.model.is_asking = False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_narrow = self.width() < _WIDE
        for column in (_SEED, _ENDED):
            self.table.setColumnHidden(column, is_narrow)

    def _begin(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        self.news.hide()
        self._listed_at = self._finished()
        self._pager = EpisodePager(self._run_id, str(self.order.currentData()))
        self.model.clear()
        self.model.is_asking = True
        self._ask()

    def _ask(self) -> None:
        pager = self._pager
        if pager is None:
            return
        self._asking = self._workbench.bridge.ask(pager.next_page, self._on_page, self._on_failed)

    def _on_page(self, page: list[EpisodeSummary]) -> None:
        assert self._pager is not None
        is_first = self.model.rowCount() == 0
        self.model.add(page, self._pager.is_all)
        self._show_count()
        self._mark()
        if is_first:
            self.loaded.emit()

    def _on_failed(self, error: MosaicError) -> None:
        self.model.add([], is_all=True)
        self.count.setText(error.message)
        self.count.setToolTip(error.message)
        self.loaded.emit()

    def _on_jump(self, page: list[EpisodeSummary]) -> None:
        if page:
            self.chosen.emit(page[0].episode_index)

    def _on_order_chosen(self) -> None:
        self._begin()

    def _on_row_chosen(self, current: QModelIndex, _: QModelIndex) -> None:
        episode = self.model.episode(current.row())
        if episode is None or self._is_marking:
            return
        if episode.episode_index != self._current:
            self.chosen.emit(episode.episode_index)

    def _mark(self) -> None:
        row = self.model.row_of(self._current)
        self._is_marking = True
        if row >= 0:
            self.table.selectRow(row)
        else:
            self.table.clearSelection()
        self._is_marking = False

    def _finished(self) -> int:
        record = self._workbench.state.runs.get(self._run_id)
        return record.progress.episodes if record else 0

    def _show_count(self) -> None:
        loaded = self.model.rowCount()
        self.count.setText(loaded_text(loaded, self._finished(), self.model.is_all))


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

    def fit(self, width: int) -> None:
        is_wide = width >= _WIDE_PAGE
        if is_wide == self._is_wide:
            return
        self._is_wide = is_wide
        side = _WIDE_SIDE if is_wide else _NARROW_SIDE
        self.left.setFixedWidth(side)
        self.right.setFixedWidth(side)
        self.right.setVisible(is_wide)
        self.choice.setVisible(not is_wide)
        (self._wide_place if is_wide else self._narrow_place).addWidget(self.steps)
        self.steps.show()
        self.show_table(self.choice.value)
