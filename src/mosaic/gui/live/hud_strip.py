"""HudStrip: what the run is doing and its numbers, on a dark strip below the picture."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from mosaic.gui.state.hud_text import Hud
from mosaic.gui.theme.theme import Theme
from mosaic.gui.theme.tokens import state_look
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(14, 14)
_WORD_WIDTH = 56  # of the longest word


class HudStrip(QWidget):
    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        with_role(self, "hud")
        self._theme = theme
        self._shown: Hud | None = None
        self._icon, self._word = QLabel(), label()
        self._about, self._numbers = label(), label()
        self._icon.setFixedSize(_ICON)
        self._word.setMinimumWidth(_WORD_WIDTH)
        for line in (self._about, self._numbers):
            # A long line is cut off; it must not make the window wider.
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        first = QHBoxLayout()
        first.setSpacing(6)
        first.addWidget(self._icon)
        first.addWidget(self._word)
        first.addWidget(self._about, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 6, 12, 6)
        layout.setSpacing(2)
        layout.addLayout(first)
        layout.addWidget(self._numbers)
        self.show_hud(Hud("", "", "", ""))

    def show_hud(self, hud: Hud) -> None:
        before, self._shown = self._shown, hud
        if before is None or (before.look, before.word) != (hud.look, hud.word):
            self._word.setText(hud.word)
            self._icon.clear()
            if hud.word:
                look = state_look(hud.look)
                # The strip is dark in both palettes.
                self._icon.setPixmap(self._theme.icon(look.icon, look.dark).pixmap(_ICON))
        self._about.setToolTip(hud.about)
        self._numbers.setToolTip(hud.help)
        self._fit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """The longer words, where they have room."""
        hud = self._shown
        if hud is not None:
            self._fill(self._about, hud.about, hud.short_about)
            self._fill(self._numbers, hud.numbers or " ", hud.short_numbers)

    def _fill(self, line: QLabel, text: str, short_text: str) -> None:
        is_narrow = line.fontMetrics().horizontalAdvance(text) > line.width()
        line.setText(short_text if is_narrow and short_text else text)

    @property
    def text(self) -> str:
        """All that can be read on it."""
        assert self._shown is not None
        return "\n".join(self._shown[1:4])
