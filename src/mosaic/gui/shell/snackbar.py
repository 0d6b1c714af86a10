"""Snackbar: the newest notice, at the lower edge of the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPropertyAnimation, QSize, Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import (
    QGraphicsOpacityEffect,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QWidget,
)

from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import SNACKBAR_FADE_MS
from mosaic.gui.widgets.roles import label, with_role

_ICONS = {
    Severity.INFO: "information-outline",
    Severity.GOOD: "check-circle-outline",
    Severity.BAD: "alert-circle-outline",
}
_MOST_WIDTH = 720
_EDGE = 16


class Snackbar(QWidget):
    def __init__(self, theme: Theme, window: QWidget) -> None:
        super().__init__(window)
        with_role(self, "snackbar")
        self._window = window
        self._theme = theme
        self.notice: Notice | None = None
        self._picture, self._text = QLabel(), label()
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.action_button = with_role(QPushButton(), "flat")
        self.action_button.clicked.connect(self._on_action)
        self.close_button = with_role(QToolButton(), "flat")
        self.close_button.setAccessibleName("Close the notice")
        self.close_button.clicked.connect(self.dismiss)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(self._picture)
        layout.addWidget(self._text, 1)
        layout.addWidget(self.action_button)
        layout.addWidget(self.close_button)
        self._effect = QGraphicsOpacityEffect(self)
        self.setGraphicsEffect(self._effect)
        self._fade = QPropertyAnimation(self._effect, b"opacity", self)
        self._fade.setDuration(SNACKBAR_FADE_MS)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.dismiss)
        theme.changed.connect(self._draw)
        self.hide()

    def show_notice(self, notice: Notice) -> None:
        self.notice = notice
        self._text.setText(notice.text)
        self.action_button.setText(notice.action_text)
        self.action_button.setVisible(notice.action is not None)
        self._draw()
        self._place()
        self.show()
        self.raise_()
        self._fade.stop()
        self._fade.setStartValue(0.0)
        self._fade.setEndValue(1.0)
        self._fade.start()
        if notice.seconds > 0:
            self._timer.start(int(notice.seconds * 1000))
        else:
            self._timer.stop()

    def dismiss(self) -> None:
        self._timer.stop()
        self._fade.stop()
        self.notice = None
        self.hide()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._window.installEventFilter(self)

    def hideEvent(self, event: QHideEvent) -> None:
        """Each event of the window, one for every picture of a run, would pass by here."""
        super().hideEvent(event)
        self._window.removeEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._place()
        return False

    def _on_action(self) -> None:
        action = self.notice.action if self.notice else None
        self.dismiss()
        if action is not None:
            action()

    def _draw(self) -> None:
        palette = self._theme.palette
        severity = self.notice.severity if self.notice else Severity.INFO
        colours = {
            Severity.INFO: palette.muted,
            Severity.GOOD: palette.good,
            Severity.BAD: palette.bad,
        }
        pixmap = self._theme.icon(_ICONS[severity], colours[severity]).pixmap(QSize(18, 18))
        self._picture.setPixmap(pixmap)
        self.close_button.setIcon(self._theme.icon("close", palette.muted))
        self.action_button.setStyleSheet(f"color: {palette.accent}; font-weight: 600;")

    def _place(self) -> None:
        window = self._window
        # On one line where there is room: a text that may be wrapped asks for a square.
        beside = self.sizeHint().width() - self._text.sizeHint().width()
        line = self._text.fontMetrics().horizontalAdvance(self._text.text()) + 4
        width = min(_MOST_WIDTH, window.width() - 2 * _EDGE, beside + line)
        self.setFixedWidth(max(width, 240))
        self.adjustSize()
        left = (window.width() - self.width()) // 2
        self.move(left, window.height() - self.height() - _EDGE)
