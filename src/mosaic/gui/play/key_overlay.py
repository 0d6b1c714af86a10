"""KeyOverlay: the keys of the game over its picture; goes away by itself."""

from __future__ import annotations

from PySide6.QtCore import QPropertyAnimation, Qt, QTimer
from PySide6.QtWidgets import QGraphicsOpacityEffect, QGridLayout, QHBoxLayout, QLabel, QWidget

from mosaic.gui.state.key_maps import Binding, KeyMap
from mosaic.gui.theme.tokens import SNACKBAR_FADE_MS
from mosaic.gui.widgets.roles import label, with_role

SHOWN_MS = 4000


class KeyOverlay(QWidget):
    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        with_role(self, "on-picture")
        self.setObjectName("play-keys")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(16, 12, 16, 12)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(6)
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
        while (item := self._grid.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        for place, binding in enumerate(rows):
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            self._grid.addWidget(_caps(binding), place, 0, right)
            self._grid.addWidget(label(binding.text), place, 1)
        if note:
            self._grid.addWidget(label(note, "on-picture-note"), len(rows), 0, 1, 2)
        self.setAccessibleName("; ".join(f"{' '.join(row.signs)}: {row.text}" for row in rows))
        self.adjustSize()

    def show_for_a_while(self) -> None:
        if self._rows:
            self._fade.stop()
            self._effect.setOpacity(1.0)
            self.show()
            self.raise_()
            self._timer.start(SHOWN_MS)

    def put_away(self) -> None:
        self._timer.stop()
        self._fade.stop()
        self.hide()


def _caps(binding: Binding) -> QWidget:
    found = QWidget()
    layout = QHBoxLayout(found)
    layout.setContentsMargins(0, 0, 0, 0)
    layout.setSpacing(4)
    for sign in binding.signs:
        cap: QLabel = label(sign, "key-cap")
        cap.setAlignment(Qt.AlignmentFlag.AlignCenter)
        layout.addWidget(cap)
    return found
