"""PlayPicture: the environment, what is written over it, and the keys that are pressed on it."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPropertyAnimation, Qt, QTimer, Signal
from PySide6.QtGui import QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QGraphicsOpacityEffect,
    QHBoxLayout,
    QLabel,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from superqt.utils import QFlowLayout

from mosaic.gui.live.tile_canvas import TileCanvas
from mosaic.gui.play.model.keys import Binding, KeyMap
from mosaic.gui.theme.tokens import SNACKBAR_FADE_MS
from mosaic.gui.widgets.roles import label, with_role

SHOWN_MS = 4000


class KeyCard(QWidget):
    """The keys of the game below its picture; goes away by itself, and leaves its room free: the
    picture must not change its size while somebody plays.
    """

    def __init__(self) -> None:
        super().__init__()
        with_role(self, "on-picture")
        self.setObjectName("play-keys")
        room = QSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        room.setRetainSizeWhenHidden(True)
        room.setHeightForWidth(True)
        self.setSizePolicy(room)
        self._flow = QFlowLayout(self)
        self._flow.setContentsMargins(12, 6, 12, 6)
        self._flow.setHorizontalSpacing(16)
        self._flow.setVerticalSpacing(4)
        self._effect = QGraphicsOpacityEffect(self)
        self.setGraphicsEffect(self._effect)
        self._fade = QPropertyAnimation(self._effect, b"opacity", self)
        self._fade.setDuration(SNACKBAR_FADE_MS)
        self._fade.setEndValue(0.0)
        self._fade.finished.connect(self.hide)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._fade.start)
        self._rows: tuple[Binding, ...] = ()
        self._note = ""
        self.hide()

    def set_keys(self, key_map: KeyMap | None, more: tuple[Binding, ...] = ()) -> None:
        """`more`: keys of the page itself."""
        rows = (*(key_map.bindings if key_map else ()), *more)
        note = key_map.note if key_map else ""
        if (rows, note) == (self._rows, self._note):
            return
        self._rows, self._note = rows, note
        while (item := self._flow.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for binding in rows:
            self._flow.addWidget(_row(binding))
        if note:
            self._flow.addWidget(label(note, "on-picture-note"))
        self.setAccessibleName("; ".join(f"{' '.join(row.signs)}: {row.text}" for row in rows))
        self.updateGeometry()

    def show_for_a_while(self) -> None:
        if self._rows:
            self._fade.stop()
            self._effect.setOpacity(1.0)
            self.show()
            self._timer.start(SHOWN_MS)

    def put_away(self) -> None:
        self._timer.stop()
        self._fade.stop()
        self.hide()


def _row(binding: Binding) -> QWidget:
    """Its keys, and what they do."""
    found = QWidget()
    layout = QHBoxLayout(found)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(4)
    for sign in binding.signs:
        cap: QLabel = label(sign, "key-cap")
        cap.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout.addWidget(cap)
    layout.addSpacing(4)
    layout.addWidget(label(binding.text))
    return found


_NAMES = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
    Qt.Key.Key_Space: "space",
    Qt.Key.Key_Return: "enter",
    Qt.Key.Key_Enter: "enter",
    Qt.Key.Key_Escape: "esc",
    Qt.Key.Key_Period: ".",
    Qt.Key.Key_Minus: "-",
    Qt.Key.Key_Plus: "+",
    Qt.Key.Key_Equal: "=",
    Qt.Key.Key_Question: "?",
}
_COMMANDS = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)


def key_name(event: QKeyEvent) -> str:
    """Empty for keys that no map knows, and for shortcuts of the window."""
    if event.modifiers() & _COMMANDS:
        return ""
    key = event.key()
    if name := _NAMES.get(Qt.Key(key) if key in _KNOWN else Qt.Key.Key_unknown):
        return name
    if Qt.Key.Key_A <= key <= Qt.Key.Key_Z or Qt.Key.Key_0 <= key <= Qt.Key.Key_9:
        return chr(key).lower()
    return ""


_KNOWN = frozenset(int(key) for key in _NAMES)


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
        self.keys = KeyCard()
        below = QVBoxLayout()
        below.setContentsMargins(_EDGE, 0, _EDGE, 0)
        below.addWidget(self.keys)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 8)
        layout.setSpacing(8)
        layout.addWidget(self.canvas, 1)
        layout.addLayout(below)
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
        self.keys.show_for_a_while()

    def _place(self) -> None:
        self._note.adjustSize()
        self._note.move((self.width() - self._note.width()) // 2, _EDGE)
        self._note.raise_()
