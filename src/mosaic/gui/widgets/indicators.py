"""Small pictures in a line of text: the state of a run, a curve without axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QPointF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPixmap, QPolygonF
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import state_look
from mosaic.gui.widgets.roles import label

_ICON = QSize(16, 16)


class StateBadge(QWidget):
    """The state of a run as icon, word and colour."""

    def __init__(self, theme: Theme, word: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme, self._word = theme, ""
        self._picture, self._text = QLabel(), label()
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        layout.addWidget(self._picture)
        layout.addWidget(self._text, 1)
        theme.changed.connect(self._draw)
        self.show_word(word)

    def show_word(self, word: str) -> None:
        if word != self._word:
            self._word = word
            self._draw()

    def _draw(self) -> None:
        colour = self._theme.state_colour(self._word)
        self._picture.setPixmap(
            self._theme.icon(state_look(self._word).icon, colour).pixmap(_ICON)
            if self._word
            else QPixmap()
        )
        self._text.setText(self._word)
        self._text.setStyleSheet(f"color: {colour};")


_SIZE = QSize(96, 24)


class Sparkline(QWidget):
    """A curve without axes, a line high."""

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
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(self._colour, 1))
            painter.drawPolyline(QPolygonF(points))
