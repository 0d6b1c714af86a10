"""Sparkline: a curve without axes, a line high."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QWidget

_SIZE = QSize(96, 24)


class Sparkline(QWidget):
    def __init__(self, colour: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._colour = QColor(colour)
        self._values: list[float] = []
        self.setFixedSize(_SIZE)

    def show_values(self, values: Sequence[float], colour: str = "") -> None:
        self._values = [value for value in values if math.isfinite(value)]
        if colour:
            self._colour = QColor(colour)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if len(self._values) < 2:
            return
        low, high = min(self._values), max(self._values)
        span = (high - low) or 1.0
        width, height = self.width() - 2, self.height() - 4
        points = [
            QPointF(
                1 + index / (len(self._values) - 1) * width,
                2 + (1 - (value - low) / span) * height,
            )
            for index, value in enumerate(self._values)
        ]
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(self._colour, 1))
        painter.drawPolyline(QPolygonF(points))
        painter.end()
