"""RunsHeader: the headings of the runs table, whose edges a person drags."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHeaderView, QWidget

from mosaic.gui.runs.model.columns import FIXED


class RunsHeader(QHeaderView):
    """Tells a width when the button is let go: what arranges itself must not run from the mouse."""

    dragged = Signal(int)  # a column, while its edge is held
    widened = Signal(int, int)  # a column, and how wide it shall be

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._is_held = False
        self._column: int | None = None  # the one whose edge is dragged
        self.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.setMinimumSectionSize(0)
        self.setHighlightSections(False)
        self.setSectionsClickable(True)
        self.setSectionsMovable(True)
        self.setFirstSectionMovable(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.sectionResized.connect(self._on_resized)

    @property
    def is_dragged(self) -> bool:
        return self._column is not None

    def hold_fixed(self) -> None:
        """After the columns have become others."""
        for column in FIXED:
            self.setSectionResizeMode(column, QHeaderView.ResizeMode.Fixed)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        self._is_held = event.button() == Qt.MouseButton.LeftButton

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        column, self._column, self._is_held = self._column, None, False
        if column is not None:
            self.widened.emit(column, self.sectionSize(column))

    def _on_resized(self, column: int, _before: int, _after: int) -> None:
        if self._is_held and column not in FIXED:
            self._column = column
            self.dragged.emit(column)
