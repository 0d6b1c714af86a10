"""PlayHud: who acts and how it goes, on the strip below the picture."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from mosaic.gui.state.play_words import PlayNow, hud_parts
from mosaic.gui.widgets.roles import label, with_role

# Wide enough for what it may become: the line must not jump.
_WIDTHS = {"": 88, "step": 92, "reward": 108, "return": 108, "episode": 92, "fps": 56}


class PlayHud(QWidget):
    def __init__(self) -> None:
        super().__init__()
        with_role(self, "hud")
        self.setObjectName("play-hud")
        self._labels: dict[str, QLabel] = {}
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 6, 12, 6)
        layout.setSpacing(4)
        for name, width in _WIDTHS.items():
            text = self._labels[name] = label()
            text.setMinimumWidth(width)
            text.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
            layout.addWidget(text)
        layout.addStretch(1)

    def show_now(self, now: PlayNow, frames_per_s: float) -> None:
        for name, value in hud_parts(now, frames_per_s):
            text = f"{name} {value}" if name else value
            if self._labels[name].text() != text:
                self._labels[name].setText(text)

    @property
    def text(self) -> str:
        return " · ".join(part.text() for part in self._labels.values())
