"""StepTable: every step of the episode, following the picture; a click goes there."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QVBoxLayout, QWidget

from mosaic.gui.replay.episode_model import StepModel
from mosaic.gui.replay.keys import KEYS
from mosaic.gui.state.replay_steps import EpisodeSteps
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.passing_table import PassingTable

_END = 4
_WIDE, _END_WIDTH = 280, 100


class StepTable(QWidget):
    chosen = Signal(int)  # a step

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_following = False
        self.table = PassingTable(KEYS)
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
        self.table.setColumnHidden(_END, self.width() < _WIDE)

    def _on_row_chosen(self, current: QModelIndex, _: QModelIndex) -> None:
        if current.isValid() and not self._is_following:
            self.chosen.emit(current.row())
