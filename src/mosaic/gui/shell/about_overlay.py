"""AboutOverlay: which MOSAIC this is, and where it keeps what it has."""

from __future__ import annotations

import platform

import PySide6
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from mosaic import __version__
from mosaic.gui.shell.overlay import Overlay
from mosaic.gui.widgets.roles import label
from mosaic.paths import Home

_WIDTH = 480


class AboutOverlay(Overlay):
    def __init__(self, home: Home, window: QWidget) -> None:
        super().__init__(window)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        facts = (
            ("Version", __version__),
            ("Python", platform.python_version()),
            ("Qt", PySide6.__version__),
            ("Home", str(home.root)),
            ("Log", str(home.workbench_log)),
        )
        grid = QGridLayout()
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        for row, (name, value) in enumerate(facts):
            grid.addWidget(label(name, "muted"), row, 0, Qt.AlignmentFlag.AlignTop)
            text = label(value)
            text.setWordWrap(True)
            text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(text, row, 1)
        layout = QVBoxLayout(self.card)
        layout.setContentsMargins(24, 16, 24, 16)
        layout.setSpacing(12)
        layout.addWidget(label("MOSAIC", "title"))
        layout.addWidget(label("A reinforcement-learning workbench whose runs are never lost."))
        layout.addLayout(grid)
        layout.addWidget(label("Esc or a click beside this card closes it", "caption"))

    def place_card(self) -> None:
        self.card.setFixedWidth(min(_WIDTH, self.width() - 32))
        self.card.adjustSize()
        left, top = self.width() - self.card.width(), self.height() - self.card.height()
        self.card.move(QPoint(left // 2, top // 3))
