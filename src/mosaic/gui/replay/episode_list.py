"""EpisodeList: the episodes of a run, and ways to the last, the best and the worst of them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from PySide6.QtCore import QModelIndex, QObject, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHBoxLayout,
    QHeaderView,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.events import EpisodeSummary
from mosaic.errors import MosaicError
from mosaic.gui.replay.controls import KEYS
from mosaic.gui.replay.model.episode import (
    EPISODE_COLUMNS,
    episode_cells,
    loaded_text,
    new_episodes_text,
)
from mosaic.gui.replay.model.walk import EpisodeWalk
from mosaic.gui.replay.rows import Index, Rows
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.widgets.rows_view import RowsView


class EpisodeModel(Rows):
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

    @property
    def episodes(self) -> list[EpisodeSummary]:
        """Those that are loaded."""
        return self._episodes

    def row_of(self, episode_index: int) -> int:
        """-1: not among those that are loaded."""
        rows = enumerate(self._episodes)
        return next((row for row, item in rows if item.episode_index == episode_index), -1)

    def _cells(self, row: int) -> tuple[str, ...]:
        return episode_cells(self._episodes[row])


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
# What is walked along: its order, and its key.
_WALKS = (("Best", "best", "B"), ("Worst", "worst", "W"))
_ARROW = 20
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
        self._walk: EpisodeWalk | None = None
        self._walk_pager: EpisodePager | None = None
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
        self.last = QPushButton("Last")
        self.last.setObjectName("jump-last")
        self.last.setToolTip("Show the last episode of the run")
        self.last.clicked.connect(lambda: self.jump("newest"))
        first_row = QHBoxLayout()
        first_row.setSpacing(4)
        first_row.addWidget(self.order, 1)
        first_row.addWidget(self.last)
        jumps = QHBoxLayout()
        jumps.setSpacing(8)
        self._icons: list[tuple[QToolButton, str]] = []
        for text, order, key in _WALKS:
            jumps.addLayout(self._walk_buttons(text, order, key), 1)
        workbench.theme.changed.connect(self._draw)
        self._draw()
        foot = QHBoxLayout()
        foot.addWidget(self.count, 1)
        foot.addWidget(self.news)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addLayout(first_row)
        layout.addLayout(jumps)
        layout.addWidget(self.table, 1)
        layout.addLayout(foot)

    def show_run(self, run_id: str) -> None:
        """Nothing is asked again when it is shown already."""
        if run_id != self._run_id:
            self._run_id = run_id
            self._current = -1
            self._walk = None
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
        self._walk = None
        self.walk(order, 1)

    def walk(self, order: str, by: int) -> None:
        """To the next one in that order, or (-1) to the one before.

        It begins with the first one, unless the one that is shown was reached in this way.
        """
        walk = self._walk
        if walk is None or walk.order != order or walk.current not in (None, self._current):
            walk = self._walk = EpisodeWalk(order)
            self._walk_pager = EpisodePager(self._run_id, order)
            by = 1
        if self._jumping is not None:
            self._jumping.cancel()
            self._jumping = None
        if walk.is_known(by):
            self._show_walked(walk, by)
        elif by > 0 and not walk.is_all and (pager := self._walk_pager) is not None:
            self._jumping = self._workbench.bridge.ask(
                pager.next_page, lambda page: self._on_walked(walk, page, pager.is_all, by)
            )

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

    def _on_walked(
        self, walk: EpisodeWalk, page: list[EpisodeSummary], is_all: bool, by: int
    ) -> None:
        walk.add([row.episode_index for row in page], is_all)
        if walk is self._walk and walk.is_known(by):
            self._show_walked(walk, by)

    def _show_walked(self, walk: EpisodeWalk, by: int) -> None:
        self.chosen.emit(walk.move(by))

    def _walk_buttons(self, text: str, order: str, key: str) -> QHBoxLayout:
        word = text.lower()
        back, forth = with_role(QToolButton(), "reset"), with_role(QToolButton(), "reset")
        button = with_role(QPushButton(text), "toggle")
        button.setObjectName(f"jump-{word}")
        button.setToolTip(f"Show the {word} episode of the run")
        button.clicked.connect(lambda: self.jump(order))
        row = QHBoxLayout()
        row.setSpacing(0)
        row.addWidget(back)
        row.addWidget(button, 1)
        row.addWidget(forth)
        for arrow, name, icon, by, keys in (
            (back, "previous", "chevron-left", -1, f"Shift+{key}"),
            (forth, "next", "chevron-right", 1, key),
        ):
            arrow.setObjectName(f"{name}-{word}")
            arrow.setFixedWidth(_ARROW)
            arrow.setToolTip(f"{name.capitalize()} {word} episode ({keys})")
            arrow.setAccessibleName(f"{name.capitalize()} {word} episode")
            arrow.clicked.connect(lambda _=False, by=by: self.walk(order, by))
            self._icons.append((arrow, icon))
        return row

    def _draw(self) -> None:
        for button, icon in self._icons:
            button.setIcon(self._workbench.theme.icon(icon))

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
