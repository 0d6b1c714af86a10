"""Qt's keys by the names that key maps use."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

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
