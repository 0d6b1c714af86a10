"""EmptyState: says why there is nothing here, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(40, 40)
_WIDTH = 320


class EmptyState(QWidget):
    def __init__(
        self,
        theme: Theme,
        icon: str,
        title: str,
        text: str = "",
        action_text: str = "",
        action: Callable[[], None] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._icon = theme, icon
        self._picture = QLabel()
        self._title, self._text = label(title, "section"), label(text, "muted")
        layout = self._layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addStretch(1)
        for widget in (self._picture, self._title, self._text):
            if isinstance(widget, QLabel):
                widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
                widget.setWordWrap(widget is not self._picture)
            layout.addWidget(widget, 0, Qt.AlignmentFlag.AlignHCenter)
        self.button: QPushButton | None = None
        if action is not None:
            self.button = with_role(QPushButton(action_text), "primary")
            self.button.clicked.connect(lambda: action())
            layout.addSpacing(4)
            layout.addWidget(self.button, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(1)
        theme.changed.connect(self._draw)
        self._draw()
        self._fit()

    def show_text(self, title: str, text: str = "") -> None:
        self._title.setText(title)
        self._text.setText(text)
        self._text.setVisible(bool(text))
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """A layout does not ask a label that may not be wider how high it then has to be."""
        edges = self._layout.contentsMargins()
        width = max(1, min(_WIDTH, self.width() - edges.left() - edges.right()))
        for words in (self._title, self._text):
            words.setFixedWidth(width)
            words.setMinimumHeight(max(0, words.heightForWidth(width)))

    def _draw(self) -> None:
        pixmap = self._theme.icon(self._icon, self._theme.palette.muted).pixmap(_ICON)
        self._picture.setPixmap(pixmap)
