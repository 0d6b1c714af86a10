"""StagePage: one page of the centre, and the button that leads back from it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtWidgets import QToolButton, QWidget

from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import with_role


class StagePage(QWidget):
    def open(self) -> None:
        """It is shown now, or shall show something else; what, is in the state."""

    def leave(self) -> None:
        """Another page is shown: processes, streams and timers end here."""


class BackButton(QToolButton):
    def __init__(self, theme: Theme, go_back: Callable[[], object]) -> None:
        super().__init__()
        with_role(self, "flat")
        self.setObjectName("page-back")
        self.setToolTip("Back to the run (Escape)")
        self.setAccessibleName("Back to the run")
        self._theme = theme
        theme.changed.connect(self._draw)
        self._draw()
        self.clicked.connect(lambda: go_back())

    def _draw(self) -> None:
        self.setIcon(self._theme.icon("arrow-left"))
