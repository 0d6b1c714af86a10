"""NoRunPage: what the right panel shows while no run is selected."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from mosaic.gui.tabs.game_view import GameView, scrolled
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.workbench import Workbench

_ICON = QSize(24, 24)


class NoRunPage(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._theme = workbench.theme
        self._picture = QLabel()
        text = label("Its curves, checkpoints and files appear here.", "muted")
        text.setWordWrap(True)
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addWidget(label("Choose a run below", "section"))
        words.addWidget(text)
        head = with_role(QWidget(), "banner")
        row = QHBoxLayout(head)
        row.setContentsMargins(12, 10, 12, 10)
        row.setSpacing(12)
        row.addWidget(self._picture)
        row.addLayout(words, 1)
        self.game = GameView(workbench)
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.addWidget(self.game)
        inner.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 12, 12, 8)
        layout.setSpacing(16)
        layout.addWidget(head)
        layout.addWidget(scrolled(page), 1)
        workbench.state.environment_changed.connect(self.game.show_environment)
        self.game.show_environment(workbench.state.env_id)
        workbench.theme.changed.connect(self._draw)
        self._draw()

    def _draw(self) -> None:
        icon = self._theme.icon("chart-line", self._theme.palette.muted)
        self._picture.setPixmap(icon.pixmap(_ICON))
