"""StateBadge: the state of a run as icon, word and colour."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import state_look
from mosaic.gui.widgets.roles import label

_ICON = QSize(16, 16)


class StateBadge(QWidget):
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
