"""Overlay: a card above the dimmed window. Esc or a click beside the card closes it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QColor, QKeyEvent, QKeySequence, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QWidget

from mosaic.gui.theme.tokens import VEIL_ALPHA
from mosaic.gui.widgets.roles import with_role


class Overlay(QWidget):
    """Nothing waits for it: whatever runs in the window goes on below."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._focus_before: QWidget | None = None
        self.card = with_role(QWidget(self), "overlay")
        window.installEventFilter(self)
        self.hide()

    def place_card(self) -> None:
        """Subclasses say where the card is; called whenever the window has another size."""
        raise NotImplementedError

    def first_focus(self) -> QWidget:
        """Where the keyboard goes when it opens."""
        return self

    def open(self) -> None:
        if self.isVisible():
            return
        self._focus_before = QApplication.focusWidget()
        self._cover()
        self.show()
        self.raise_()
        self.first_focus().setFocus(Qt.FocusReason.ShortcutFocusReason)

    def dismiss(self) -> None:
        if not self.isVisible():
            return
        before, self._focus_before = self._focus_before, None
        self.hide()
        if before is not None and before.isVisible():
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self.isVisible():
            self._cover()
        return False

    def event(self, event: QEvent) -> bool:
        # The keys of the window below have to wait, all but the one that ends the program.
        is_shortcut = event.type() == QEvent.Type.ShortcutOverride
        if is_shortcut and isinstance(event, QKeyEvent):
            event.setAccepted(not event.matches(QKeySequence.StandardKey.Quit))
            return event.isAccepted()
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.card.geometry().contains(event.position().toPoint()):
            self.dismiss()

    def focusNextPrevChild(self, forward: bool) -> bool:
        """The keyboard stays on the card."""
        inside = [
            widget
            for widget in self.card.findChildren(QWidget)
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible()
        ]
        if inside:
            now = QApplication.focusWidget()
            place = inside.index(now) if now in inside else -1
            following = inside[(place + (1 if forward else -1)) % len(inside)]
            following.setFocus(Qt.FocusReason.TabFocusReason)
        return True

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(0, 0, 0, VEIL_ALPHA))
        painter.end()

    def _cover(self) -> None:
        self.setGeometry(self._window.rect())
        self.place_card()
