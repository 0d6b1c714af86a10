"""Scrubber: where in the episode one is, with a mark at each extreme of the reward."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QSlider, QStyle, QWidget

from mosaic.gui.theme.theme import Theme

_MARK_HEIGHT = 5
_HANDLE = 14  # as in the style sheet


class Scrubber(QSlider):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self._lows: Sequence[int] = ()
        self._highs: Sequence[int] = ()
        self.setObjectName("replay-scrubber")
        self.setAccessibleName("Step of the episode")
        self.setFixedHeight(26)
        self.setPageStep(10)
        theme.changed.connect(self.update)

    def show_steps(self, steps: int, lows: Sequence[int], highs: Sequence[int]) -> None:
        self._lows, self._highs = lows, highs
        self.blockSignals(True)
        self.setRange(0, max(steps, 0))
        self.blockSignals(False)
        self.update()

    def show_step(self, step: int) -> None:
        """Without saying that somebody moved it."""
        if not self.isSliderDown():
            self.blockSignals(True)
            self.setValue(step)
            self.blockSignals(False)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            # To where one clicks, not a page nearer to it; the handle is then below the pointer.
            self.setValue(self._step_at(round(event.position().x())))
        super().mousePressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        palette = self._theme.palette
        for steps, colour in ((self._highs, palette.good), (self._lows, palette.bad)):
            for step in steps:
                x = self._place_of(step)
                mark = QRect(x - 1, self.height() - _MARK_HEIGHT, 2, _MARK_HEIGHT)
                painter.fillRect(mark, QColor(colour))
        painter.end()

    def _place_of(self, step: int) -> int:
        room = self.width() - _HANDLE
        offset = QStyle.sliderPositionFromValue(self.minimum(), self.maximum(), step, room)
        return int(offset) + _HANDLE // 2

    def _step_at(self, x: int) -> int:
        room = self.width() - _HANDLE
        at = x - _HANDLE // 2
        return int(QStyle.sliderValueFromPosition(self.minimum(), self.maximum(), at, room))
