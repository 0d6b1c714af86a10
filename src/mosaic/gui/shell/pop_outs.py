"""PopOuts: views of the window in windows of their own, and back again.

A view that is popped out stays what it is: the same widget, which hears the same state, with all
keys of the workbench. Closing its window docks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from psygnal import Signal
from PySide6.QtCore import QByteArray, Qt
from PySide6.QtCore import Signal as QtSignal
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from mosaic.gui.services.workbench import Workbench
from mosaic.gui.widgets.roles import eliding_label, with_role

_FIRST_SIZE = (720, 520)
_LEAST_SIZE = (360, 280)
_OPEN = "popped/open"  # the keys of those that are out when the program ends
CENTRE = "centre"


class PoppedWindow(QWidget):
    """One view with its title, and the button that docks it."""

    closed = QtSignal()

    def __init__(self, workbench: Workbench, view: QWidget, escape: Callable[[], None]) -> None:
        super().__init__()
        self.setObjectName("window")  # looks like the other one
        self._workbench, self._escape = workbench, escape
        self.view = view
        self.setMinimumSize(*_LEAST_SIZE)
        self.resize(*_FIRST_SIZE)
        self._title = eliding_label("", "section")
        self.dock_button = with_role(QToolButton(), "flat")
        self.dock_button.setObjectName("dock-back")
        self.dock_button.setAccessibleName("Dock it again")
        self.dock_button.setToolTip("Back into the window it came from")
        self.dock_button.clicked.connect(self.close)
        head = QHBoxLayout()
        head.setContentsMargins(4, 0, 0, 0)
        head.addWidget(self._title, 1)
        head.addWidget(self.dock_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 6, 8, 8)
        layout.setSpacing(6)
        layout.addLayout(head)
        layout.addWidget(view, 1)
        view.show()
        self.addActions(list(workbench.commands))
        workbench.commands.added.connect(self._on_command_added)
        workbench.theme.changed.connect(self._draw)
        self._draw()

    def show_title(self, title: str) -> None:
        self._title.setText(title)
        self.setWindowTitle(f"{title} · MOSAIC")

    def closeEvent(self, event: QCloseEvent) -> None:
        super().closeEvent(event)
        self.closed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        elif self.isFullScreen():
            self.showNormal()
        else:
            self._escape()

    def toggle_full_screen(self) -> None:
        if self.isFullScreen():
            self.showNormal()
        else:
            self.showFullScreen()

    def _on_command_added(self, id: str) -> None:
        self.addAction(self._workbench.commands[id])

    def _draw(self) -> None:
        self.dock_button.setIcon(self._workbench.theme.icon("dock-window"))


@dataclass(frozen=True)
class _Out:
    window: PoppedWindow
    put_back: Callable[[], None]


class PopOuts:
    changed = Signal()

    def __init__(self, workbench: Workbench, escape: Callable[[], None]) -> None:
        self._workbench, self._escape = workbench, escape
        self._out: dict[str, _Out] = {}
        saved = str(workbench.settings.value(_OPEN, "") or "")
        # Until they are there: a tab is made when a run has it.
        self._remembered = set(filter(None, saved.split(",")))
        self.is_closing = False

    def window(self, key: str) -> PoppedWindow | None:
        found = self._out.get(key)
        return found.window if found else None

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self._out)

    def was_out(self, key: str) -> bool:
        """When the program ended; says so once."""
        is_out = key in self._remembered
        self._remembered.discard(key)
        return is_out

    def take_out(
        self, key: str, title: str, view: QWidget, put_back: Callable[[], None]
    ) -> PoppedWindow:
        """`put_back` is called when the view shall return to its place."""
        window = PoppedWindow(self._workbench, view, self._escape)
        window.show_title(title)
        geometry = self._workbench.settings.value(_geometry_name(key))
        if isinstance(geometry, QByteArray):
            window.restoreGeometry(geometry)
        self._out[key] = _Out(window, put_back)
        self._remembered.discard(key)
        window.closed.connect(lambda: self.dock(key))
        window.show()
        self.changed.emit()
        return window

    def dock(self, key: str) -> None:
        found = self._out.pop(key, None)
        if found is None:
            return
        window = found.window
        if window.isFullScreen():
            window.showNormal()
        self._workbench.settings.setValue(_geometry_name(key), window.saveGeometry())
        found.put_back()
        window.hide()
        window.deleteLater()
        self.changed.emit()

    def dock_all(self) -> None:
        for key in self.keys:
            self.dock(key)

    def close_all(self) -> None:
        """The program ends: they come back with it."""
        self.is_closing = True
        kept = {*self._out, *self._remembered}
        self.dock_all()
        self._workbench.settings.setValue(_OPEN, ",".join(sorted(kept)))


def _geometry_name(key: str) -> str:
    return f"popped/{key}"
