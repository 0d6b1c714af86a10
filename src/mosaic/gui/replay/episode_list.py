"""EpisodeList: the episodes of a run, more of them as one scrolls."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QHeaderView, QPushButton, QVBoxLayout, QWidget

from mosaic.contracts.events import EpisodeSummary
from mosaic.errors import MosaicError
from mosaic.gui.async_bridge import Task
from mosaic.gui.replay.episode_model import EpisodeModel
from mosaic.gui.replay.episode_pager import EpisodePager
from mosaic.gui.replay.keys import KEYS
from mosaic.gui.state.replay_words import loaded_text, new_episodes_text
from mosaic.gui.widgets.passing_table import PassingTable
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.workbench import Workbench

_ORDERS = (("newest", "Newest first"), ("best", "Best first"), ("worst", "Worst first"))
# What a jump is called, and the order in which that episode is the first.
_JUMPS = (("Last", "newest"), ("Best", "best"), ("Worst", "worst"))
_SEED, _ENDED = 3, 4
_WIDE, _ENDED_WIDTH = 300, 100


class EpisodeList(QWidget):
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
        self._listed_at = 0  # so many were finished when the list was read
        self.order = QComboBox()
        self.order.setObjectName("episode-order")
        self.order.setAccessibleName("Order of the episodes")
        for value, text in _ORDERS:
            self.order.addItem(text, value)
        self.order.currentIndexChanged.connect(self._on_order_chosen)
        self.table = PassingTable(KEYS)
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
        """So many are there by now."""
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
