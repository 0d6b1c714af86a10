"""QuestionBar: a sentence above the text with what can be done about it. Nothing waits for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role, without_mnemonics

_ICON = QSize(18, 18)
Choice = tuple[str, Callable[[], None]]


class QuestionBar(QWidget):
    """Says one thing at a time; each of its buttons ends it."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "banner")
        self.setObjectName("plan-question")
        self._theme = theme
        self._picture, self._text = QLabel(), label()
        self._text.setWordWrap(True)
        self.buttons: list[QPushButton] = []
        self._row = QHBoxLayout()
        self._row.setSpacing(8)
        words = QHBoxLayout()
        words.setSpacing(8)
        words.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        words.addWidget(self._text, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(6)
        layout.addLayout(words)
        layout.addLayout(self._row)
        theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    @property
    def text(self) -> str:
        return self._text.text() if not self.isHidden() else ""

    def ask(self, text: str, choices: Sequence[Choice], *, takes_keyboard: bool = False) -> None:
        """The first choice is what Enter does where the keyboard is taken."""
        self._empty()
        self._text.setText(text)
        for name, action in choices:
            button = QPushButton(without_mnemonics(name))
            button.setAccessibleName(name)
            button.clicked.connect(lambda _=False, action=action: self._on_chosen(action))
            self._row.addWidget(button)
            self.buttons.append(button)
        self._row.addStretch(1)
        self.show()
        if takes_keyboard and self.buttons:
            self.buttons[0].setFocus()

    def dismiss(self) -> None:
        self._empty()
        self.hide()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Escape is the last choice, which changes nothing."""
        keys = Qt.Key
        focused = next((button for button in self.buttons if button.hasFocus()), None)
        if event.key() == keys.Key_Escape and self.buttons:
            self.buttons[-1].click()
        elif event.key() in (keys.Key_Return, keys.Key_Enter) and focused is not None:
            focused.click()
        else:
            super().keyPressEvent(event)

    def _on_chosen(self, action: Callable[[], None]) -> None:
        self.dismiss()
        action()

    def _empty(self) -> None:
        self.buttons.clear()
        while (item := self._row.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()

    def _draw(self) -> None:
        icon = self._theme.icon("information-outline", self._theme.palette.muted)
        self._picture.setPixmap(icon.pixmap(_ICON))
