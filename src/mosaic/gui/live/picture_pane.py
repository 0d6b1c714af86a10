"""PicturePane: the tiles with their strip below."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.gui.live.hud_strip import HudStrip
from mosaic.gui.live.tile_canvas import TileCanvas
from mosaic.gui.theme import tokens
from mosaic.gui.theme.theme import Theme


class PicturePane(QWidget):
    """Its key works while the picture has the focus: buttons and fields keep their own."""

    pause_asked = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.canvas, self.hud = TileCanvas(), HudStrip(theme)
        around = QVBoxLayout()
        around.setContentsMargins(tokens.PADDING, 0, tokens.PADDING, tokens.GAP)
        around.addWidget(self.canvas)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(around, 1)
        layout.addWidget(self.hud)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Space:
            if not event.isAutoRepeat():
                self.pause_asked.emit()
        else:
            super().keyPressEvent(event)
