"""ExampleCard: one example that starts with a click."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.state.examples import Example
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(28, 28)
_BUTTON_WIDTH = 76


class ExampleCard(QWidget):
    started = Signal(object)  # Example

    def __init__(self, theme: Theme, example: Example, is_first: bool) -> None:
        super().__init__()
        with_role(self, "card")
        self._theme, self.example = theme, example
        self._picture = QLabel()
        title, text = label(example.title, "section"), label(example.text, "muted")
        self.obstacle = label("", "warning")
        for words in (title, text, self.obstacle):
            words.setWordWrap(True)
        self.obstacle.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = QPushButton(example.button)
        if is_first:
            with_role(self.button, "primary")
        self.button.setFixedWidth(_BUTTON_WIDTH)
        self.button.setAccessibleName(example.title)
        self.button.setToolTip(example.title)
        self.button.clicked.connect(self._on_clicked)
        words_layout = QVBoxLayout()
        words_layout.setSpacing(2)
        for widget in (title, text, self.obstacle):
            words_layout.addWidget(widget)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(16)
        layout.addWidget(self._picture)
        layout.addLayout(words_layout, 1)
        layout.addWidget(self.button)
        theme.changed.connect(self._draw)
        self.show_obstacle("")

    def show_obstacle(self, text: str) -> None:
        """An empty text: nothing stands in its way."""
        self.obstacle.setText(text)
        self.obstacle.setVisible(bool(text))
        self.button.setEnabled(not text)
        shape = Qt.CursorShape.ArrowCursor if text else Qt.CursorShape.PointingHandCursor
        self.setCursor(shape)
        self._draw()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        is_here = self.rect().contains(event.position().toPoint())
        if is_here and event.button() == Qt.MouseButton.LeftButton:
            self.button.click()

    def _on_clicked(self) -> None:
        self.started.emit(self.example)

    def _draw(self) -> None:
        palette = self._theme.palette
        colour = palette.accent if self.button.isEnabled() else palette.muted
        self._picture.setPixmap(self._theme.icon(self.example.icon, colour).pixmap(_ICON))
