"""DockShares and FullScreen: how much room the panels have beside the centre, or none at all."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, QObject, QSize, Qt
from PySide6.QtWidgets import QDockWidget, QMainWindow

from mosaic.gui.shell.model.dock_sizes import DockSizes, adjusted_sizes, dock_sizes, is_narrow
from mosaic.gui.shell.pop_outs import PoppedWindow

_RESIZE = QEvent.Type.Resize


class DockShares(QObject):
    """Docks that nobody dragged keep their share of the window when it changes its size."""

    def __init__(
        self, window: QMainWindow, left: QDockWidget, right: QDockWidget, bottom: QDockWidget
    ) -> None:
        super().__init__(window)
        self._window = window
        self._left, self._right, self._bottom = left, right, bottom
        self._settled = window.size()
        self._now = dock_sizes(window.width(), window.height())
        # Before the window became narrow: the sizes it had, and those it had been given.
        self._unfolded: tuple[DockSizes, DockSizes] | None = None
        self._give(self._now)
        for dock in (left, right, bottom):
            dock.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        # In a window that is being resized docks shrink: nobody asked for that.
        if event.type() == _RESIZE and self._window.size() == self._settled:
            self._now = DockSizes(self._left.width(), self._right.width(), self._bottom.height())
        return super().eventFilter(watched, event)

    def fit(self, size: QSize) -> None:
        """The window has this size now."""
        before = dock_sizes(self._settled.width(), self._settled.height())
        after = dock_sizes(size.width(), size.height())
        was_narrow = is_narrow(self._settled.width())
        if is_narrow(size.width()) and not was_narrow:
            self._unfolded = self._now, before
        elif was_narrow and not is_narrow(size.width()) and self._unfolded is not None:
            self._now, before = self._unfolded
            # What has been unfolded needs less room: before that is known, nothing gets narrower.
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        self._settled = size
        self._give(adjusted_sizes(self._now, before, after))

    def _give(self, sizes: DockSizes) -> None:
        across, down = Qt.Orientation.Horizontal, Qt.Orientation.Vertical
        self._window.resizeDocks([self._left, self._right], [sizes.left, sizes.right], across)
        self._window.resizeDocks([self._bottom], [sizes.bottom], down)


class FullScreen:
    """The centre alone, as large as the screen, and back again."""

    def __init__(
        self, window: QMainWindow, popped_centre: Callable[[], PoppedWindow | None]
    ) -> None:
        """`popped_centre`: the window of its own that the centre may have."""
        self._window, self._popped_centre = window, popped_centre
        self._docks: QByteArray | None = None
        self._was_maximized = False

    @property
    def is_on(self) -> bool:
        return self._docks is not None

    def toggle(self) -> None:
        popped = self._popped_centre()
        if popped is not None:
            popped.toggle_full_screen()
        elif self.is_on:
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
