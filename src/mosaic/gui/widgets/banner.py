"""Banner: a sentence above a page that stays as long as it is true, perhaps with a button."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(18, 18)


class Banner(QWidget):
    def __init__(self, theme: Theme, icon: str = "information-outline") -> None:
        super().__init__()
        with_role(self, "banner")
        self._theme, self._icon = theme, icon
        self._picture, self._text = QLabel(), label()
        self._text.setWordWrap(True)
        self.button = QPushButton()
        self.button.hide()
        self._action: Callable[[], None] | None = None
        self.button.clicked.connect(self._on_clicked)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(self._picture)
        layout.addWidget(self._text, 1)
        layout.addWidget(self.button)
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    def show_text(
        self, text: str, action_text: str = "", action: Callable[[], None] | None = None
    ) -> None:
        """An empty text hides it."""
        self._text.setText(text)
        self._action = action
        self.button.setText(action_text)
        self.button.setVisible(action is not None)
        self.setVisible(bool(text))

    @property
    def text(self) -> str:
        return self._text.text()

    def _on_clicked(self) -> None:
        if self._action is not None:
            self._action()

    def _draw(self) -> None:
        pixmap = self._theme.icon(self._icon, self._theme.palette.muted).pixmap(_ICON)
        self._picture.setPixmap(pixmap)
