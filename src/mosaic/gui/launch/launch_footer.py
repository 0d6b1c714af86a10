"""LaunchFooter: the button that starts it, why it cannot be pressed, and what else can be done."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, set_property, with_role

_ICON = QSize(14, 14)
READY, WRONG, BUSY = "ready", "wrong", "busy"
_LOOKS = {READY: "check", WRONG: "alert-circle-outline", BUSY: "progress-clock"}


class LaunchFooter(QWidget):
    launched = Signal()
    menu_opening = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "footer")
        self._theme, self._look = theme, READY
        self._picture = QLabel()
        self._picture.setFixedSize(_ICON)
        self.status = label(role="caption")
        self.status.setObjectName("launch-status")
        self.status.setWordWrap(True)
        self.status.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = with_role(QPushButton(), "primary")
        self.button.setObjectName("launch")
        self.button.clicked.connect(self.launched)
        self.menu = QMenu(self)
        self.menu.aboutToShow.connect(self.menu_opening)
        self.more = with_role(QToolButton(), "flat")
        self.more.setObjectName("launch-more")
        self.more.setAccessibleName("More")
        self.more.setToolTip("Dry run, copy command, presets, reset")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setMenu(self.menu)
        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.status, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(4)
        buttons.addWidget(self.button, 1)
        buttons.addWidget(self.more)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 12)
        layout.setSpacing(6)
        layout.addLayout(line)
        layout.addLayout(buttons)
        theme.changed.connect(self._draw)
        self._draw()

    def show_ready(self, button: str, text: str, shortcut: str) -> None:
        self._show(button, text, READY)
        self.button.setToolTip(f"{button} ({shortcut})")

    def show_problem(self, button: str, reason: str) -> None:
        self._show(button, reason, WRONG)
        self.button.setToolTip(reason)

    def show_busy(self, button: str, text: str) -> None:
        self._show(button, text, BUSY)
        self.button.setToolTip(text)

    def show_error(self, text: str) -> None:
        """What went wrong with the last attempt: the next one is not forbidden."""
        self.status.setText(text)
        set_property(self.status, "role", "error")
        self._look = WRONG
        self._draw()

    def _show(self, button: str, text: str, look: str) -> None:
        self.button.setText(button)
        self.button.setEnabled(look == READY)
        self.status.setText(text)
        set_property(self.status, "role", {READY: "good", WRONG: "error"}.get(look, "caption"))
        self._look = look
        self._draw()

    def _draw(self) -> None:
        palette = self._theme.palette
        colour = {READY: palette.good, WRONG: palette.bad}.get(self._look, palette.muted)
        self._picture.setPixmap(self._theme.icon(_LOOKS[self._look], colour).pixmap(_ICON))
        self.more.setIcon(self._theme.icon("dots-horizontal"))
