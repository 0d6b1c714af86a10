"""ReplaySide: the two tables beside the picture; where there is little room, one at a time."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from mosaic.gui.replay.episode_list import EpisodeList
from mosaic.gui.replay.step_table import StepTable
from mosaic.gui.widgets.roles import label
from mosaic.gui.widgets.segmented import Segmented
from mosaic.gui.workbench import Workbench

# From this width of the page on, steps have a place of their own on the right.
_WIDE = 900
_NARROW_SIDE, _WIDE_SIDE = 208, 340


class ReplaySide(QObject):
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
        is_wide = width >= _WIDE
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
