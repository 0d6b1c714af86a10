"""Banner and EmptyState: a sentence above a page, or in its place, with what to do about it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(18, 18)


class Banner(QWidget):
    """A sentence above a page that stays as long as it is true, perhaps with a button."""

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


_LARGE_ICON = QSize(40, 40)
_WIDTH = 320


class EmptyState(QWidget):
    """Says why there is nothing here, and what to do about it."""

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
        pixmap = self._theme.icon(self._icon, self._theme.palette.muted).pixmap(_LARGE_ICON)
        self._picture.setPixmap(pixmap)
