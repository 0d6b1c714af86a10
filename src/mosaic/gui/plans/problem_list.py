"""ProblemList: what is wrong with a plan, below it, and the way there."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QListWidget, QListWidgetItem

from mosaic.front.plan_check import PlanProblem
from mosaic.gui.plans.model.checking import problem_text
from mosaic.gui.theme.theme import Theme

_SHOWN = 5
_ROW = 26


class ProblemList(QListWidget):
    chosen = Signal(object)  # a PlanProblem

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.problems: tuple[PlanProblem, ...] = ()
        self.setObjectName("plan-problems")
        self.setAccessibleName("Problems of the plan")
        self.setIconSize(QSize(16, 16))
        self.setUniformItemSizes(True)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.itemClicked.connect(self._on_chosen)
        self.itemActivated.connect(self._on_chosen)
        theme.changed.connect(self._fill)
        self.hide()

    def show_problems(self, problems: tuple[PlanProblem, ...]) -> None:
        if problems != self.problems:
            self.problems = problems
            self._fill()

    def go_on(self, by: int) -> None:
        """To the next problem, or the one before."""
        if self.problems:
            last = self.currentRow() if self.currentRow() >= 0 else -1 if by > 0 else 0
            self.setCurrentRow((last + by) % len(self.problems))
            self._on_chosen(self.currentItem())

    def _fill(self) -> None:
        row = self.currentRow()
        self.clear()
        palette = self._theme.palette
        for problem in self.problems:
            name, colour = (
                ("close-circle-outline", palette.bad)
                if problem.is_error
                else ("alert-outline", palette.warning)
            )
            text = problem_text(problem)
            item = QListWidgetItem(self._theme.icon(name, colour), text)
            item.setToolTip(text)
            item.setSizeHint(QSize(0, _ROW))
            self.addItem(item)
        if 0 <= row < self.count():
            self.setCurrentRow(row)
        self.setFixedHeight(min(len(self.problems), _SHOWN) * _ROW + 2 * self.frameWidth() + 2)
        self.setVisible(bool(self.problems))

    def _on_chosen(self, item: QListWidgetItem | None) -> None:
        row = self.row(item) if item is not None else -1
        if 0 <= row < len(self.problems):
            self.chosen.emit(self.problems[row])
