"""Keys of the replay page; tables on it leave them to the page."""

from __future__ import annotations

from PySide6.QtCore import Qt

PLAY, BACK, FORTH = Qt.Key.Key_Space, Qt.Key.Key_Comma, Qt.Key.Key_Period
SLOWER, FASTER, LOOP = Qt.Key.Key_Minus, Qt.Key.Key_Plus, Qt.Key.Key_L
KEYS = frozenset({PLAY, BACK, FORTH, SLOWER, FASTER, LOOP, Qt.Key.Key_Equal})
