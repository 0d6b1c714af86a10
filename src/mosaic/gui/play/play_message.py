"""PlayMessage: why nothing is played right now, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(40, 40)
_WIDTH = 400

Choice = tuple[str, Callable[[], None]]


class PlayMessage(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme, self._icon = theme, "gamepad-variant-outline"
        self._picture = QLabel()
        self.title, self.text = label("", "section"), label("", "muted")
        self.text.setWordWrap(True)
        self.text.setFixedWidth(_WIDTH)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.first = with_role(QPushButton(), "primary")
        self.first.setObjectName("play-first-choice")
        self.second = QPushButton()
        self.second.setObjectName("play-second-choice")
        self._choices: tuple[Choice, ...] = ()
        self.first.clicked.connect(self._on_first)
        self.second.clicked.connect(self._on_second)
        layout = QVBoxLayout(self)
        layout.setSpacing(8)
        layout.addStretch(1)
        centre = Qt.AlignmentFlag.AlignHCenter
        for widget in (self._picture, self.title, self.text):
            widget.setAlignment(Qt.AlignmentFlag.AlignCenter)
            layout.addWidget(widget, 0, centre)
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self.first)
        row.addWidget(self.second)
        row.addStretch(1)
        layout.addSpacing(4)
        layout.addLayout(row)
        layout.addStretch(1)
        theme.changed.connect(self._draw)
        self._draw()

    def show_message(
        self,
        title: str,
        text: str = "",
        *choices: Choice,
        icon: str = "gamepad-variant-outline",
    ) -> None:
        """At most two choices; the first one is the likely one."""
        self._icon, self._choices = icon, choices
        self.title.setText(title)
        self.text.setText(text)
        self.text.setVisible(bool(text))
        # A layout that centres a label does not ask how high its lines are.
        self.text.setMinimumHeight(0)
        self.text.setMinimumHeight(max(0, self.text.heightForWidth(_WIDTH)))
        for place, button in enumerate((self.first, self.second)):
            button.setVisible(place < len(choices))
            if place < len(choices):
                button.setText(choices[place][0])
        self._draw()

    def _on_first(self) -> None:
        self._choices[0][1]()

    def _on_second(self) -> None:
        self._choices[1][1]()

    def _draw(self) -> None:
        icon = self._theme.icon(self._icon, self._theme.palette.muted)
        self._picture.setPixmap(icon.pixmap(_ICON))
