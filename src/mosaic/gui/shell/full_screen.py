"""FullScreen: the centre alone, as large as the screen, and back again."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow


class FullScreen:
    def __init__(self, window: QMainWindow) -> None:
        self._window = window
        self._docks: QByteArray | None = None
        self._was_maximized = False

    @property
    def is_on(self) -> bool:
        return self._docks is not None

    def toggle(self) -> None:
        if self.is_on:
            self.leave()
        else:
            self._enter()

    def leave(self) -> None:
        if self._docks is None:
            return
        docks, self._docks = self._docks, None
        self._window.menuBar().show()
        if self._was_maximized:
            self._window.showMaximized()
        else:
            self._window.showNormal()
        self._window.restoreState(docks)

    def _enter(self) -> None:
        window = self._window
        self._docks = window.saveState()
        self._was_maximized = bool(window.windowState() & Qt.WindowState.WindowMaximized)
        for dock in window.findChildren(QDockWidget):
            dock.hide()
        window.menuBar().hide()
        window.showFullScreen()
