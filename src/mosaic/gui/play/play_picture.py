"""PlayPicture: the environment, what is written over it, and the keys that are pressed on it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.gui.live.tile_canvas import TileCanvas
from mosaic.gui.play.key_names import key_name
from mosaic.gui.play.key_overlay import KeyOverlay
from mosaic.gui.widgets.roles import label, with_role

_EDGE = 12


class PlayPicture(QWidget):
    """Keys that repeat by themselves are dropped: what is held is held."""

    pressed = Signal(str)
    released = Signal(str)
    focus_changed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.canvas = TileCanvas()
        self.canvas.setObjectName("play-canvas")
        self.canvas.setAccessibleName("The game: keys pressed here are played")
        self.canvas.installEventFilter(self)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.canvas)
        self.keys = KeyOverlay(self)
        self._note = with_role(QWidget(self), "on-picture")
        self._note.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._text = label("", "on-picture-title")
        self._text.setAlignment(Qt.AlignmentFlag.AlignCenter)
        inner = QVBoxLayout(self._note)
        inner.setContentsMargins(16, 10, 16, 10)
        inner.addWidget(self._text)
        self._note.hide()
        self._known: frozenset[str] = frozenset()

    def set_known_keys(self, keys: frozenset[str]) -> None:
        """These come here first, whatever else they are a shortcut for."""
        self._known = keys

    @property
    def text(self) -> str:
        return self._text.text()

    def show_text(self, text: str) -> None:
        if text != self._text.text():
            self._text.setText(text)
            self._note.setVisible(bool(text))
            self._place()

    def take_focus(self) -> None:
        self.canvas.setFocus(Qt.FocusReason.OtherFocusReason)

    @property
    def has_focus(self) -> bool:
        return self.canvas.hasFocus()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kind = event.type()
        if kind in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self.focus_changed.emit(kind == QEvent.Type.FocusIn)
        if isinstance(event, QKeyEvent):
            name = key_name(event)
            if not name or name not in self._known:
                return False
            if kind == QEvent.Type.ShortcutOverride:
                event.accept()
                return True
            if kind == QEvent.Type.KeyPress:
                if not event.isAutoRepeat():
                    self.pressed.emit(name)
                return True
            if kind == QEvent.Type.KeyRelease:
                if not event.isAutoRepeat():
                    self.released.emit(name)
                return True
        return False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def show_keys(self) -> None:
        self._place()
        self.keys.show_for_a_while()
        self._place()

    def _place(self) -> None:
        self.keys.adjustSize()
        left = (self.width() - self.keys.width()) // 2
        self.keys.move(left, self.height() - self.keys.height() - _EDGE)
        self._note.adjustSize()
        self._note.move((self.width() - self._note.width()) // 2, _EDGE)
        self._note.raise_()
