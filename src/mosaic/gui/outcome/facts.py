"""FactRow: the numbers of a run that is over."""

from __future__ import annotations

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from mosaic.gui.outcome.model.outcome import Fact
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.widgets.roles import eliding_label

_FACT_WIDTH = 96


class FactRow(QWidget):
    """Numbers with their names above, in as many columns as there is room for."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._theme = workbench.theme
        self._facts: tuple[Fact, ...] = ()
        self._columns = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)

    def show_facts(self, facts: tuple[Fact, ...]) -> None:
        if facts != self._facts:
            self._facts = facts
            self._fill(self.width())
        self.setVisible(bool(facts))

    @property
    def text(self) -> str:
        return " · ".join(f"{fact.name} {fact.value}" for fact in self._facts)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit(self.width())

    def fit(self, width: int) -> None:
        """It is about to be this broad, and shall have the height that it then needs."""
        if self._fitting(width) != self._columns:
            self._fill(width)

    def _fitting(self, width: int) -> int:
        """In rows of the same length."""
        room = max(1, width // _FACT_WIDTH)
        rows = -(-len(self._facts) // room)
        return max(1, -(-len(self._facts) // max(1, rows)))

    def _fill(self, width: int) -> None:
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 0)
        self._columns = self._fitting(width)
        for place, fact in enumerate(self._facts):
            cell = QWidget()
            lines = QVBoxLayout(cell)
            lines.setContentsMargins(0, 0, 0, 0)
            lines.setSpacing(0)
            value = eliding_label(fact.value)
            value.setFont(self._theme.mono_font(13))
            lines.addWidget(eliding_label(fact.name, "caption"))
            lines.addWidget(value)
            cell.setToolTip(fact.tip or f"{fact.name}: {fact.value}")
            self._grid.addWidget(cell, place // self._columns, place % self._columns)
        for column in range(self._columns):
            self._grid.setColumnStretch(column, 1)
