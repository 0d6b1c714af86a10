"""The upper edge of the window: menus, search, the daemon, and a banner while it is away."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from PySide6.QtCore import QSize, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMenu, QMenuBar, QPushButton, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import MENUS, Commands, Workbench
from mosaic.gui.shell.model import header_texts as texts
from mosaic.gui.shell.model.header_texts import banner_text
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.widgets.messages import Banner
from mosaic.gui.widgets.roles import label, set_property, with_role
from mosaic.wire.answers import Health

_DISK_MS = 5000
_WIDE = 720  # room for a search field that looks like one
_ICON = QSize(12, 12)
_ICONS = {
    Connection.ONLINE: "circle",
    Connection.CONNECTING: "circle-outline",
    Connection.LOST: "alert-circle",
}


class Header(QWidget):
    """The right end of the menu bar, with search, the daemon and what the machine has left."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._reading: Task | None = None
        self.search_button = with_role(QPushButton("Search"), "search")
        self.search_button.setToolTip("Search commands, runs and environments (Ctrl+K)")
        self.search_button.clicked.connect(self._on_search)
        self._keys = label("Ctrl+K", "caption")
        inner = QHBoxLayout(self.search_button)
        inner.setContentsMargins(0, 0, 10, 0)
        inner.addStretch(1)
        inner.addWidget(self._keys)
        self._dot = QLabel()
        self.daemon = self._figure(texts.WIDEST_WORD)
        self.cpus = self._figure(texts.WIDEST_CPUS)
        self.gpus = self._figure(texts.WIDEST_GPUS)
        self.disk = self._figure(texts.WIDEST_DISK)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 8, 2)
        layout.setSpacing(12)
        layout.addWidget(self.search_button)
        layout.addSpacing(4)
        layout.addWidget(self._dot)
        layout.setSpacing(6)
        for figure in (self.daemon, self.cpus, self.gpus, self.disk):
            layout.addWidget(figure)
        self._timer = QTimer(self)
        self._timer.setInterval(_DISK_MS)
        self._timer.timeout.connect(self._read_disk)
        state = workbench.state
        state.connection_changed.connect(self._on_connection_changed)
        state.health_changed.connect(self._on_health_changed)
        workbench.theme.changed.connect(self._draw)
        self.disk.setText(texts.disk_text(None))
        self._draw()

    def fit(self, room: int) -> None:
        """What the menus leave: where it is little, the least important figures are left out."""
        set_property(self.search_button, "wide", room >= _WIDE)
        figures = (self.gpus, self.disk, self.cpus)  # the first to go stands first
        for figure in figures:
            figure.show()
        self._keys.show()
        for part in (self._keys, *figures):
            if self.sizeHint().width() <= room:
                return
            part.hide()

    def showEvent(self, event: QShowEvent) -> None:
        self._timer.start()
        self._read_disk()

    def hideEvent(self, event: QHideEvent) -> None:
        self._timer.stop()
        if self._reading is not None:
            self._reading.cancel()

    def _figure(self, widest: str) -> QLabel:
        found = label("", "figure")
        found.ensurePolished()  # its font is the style sheet's
        found.setMinimumWidth(found.fontMetrics().horizontalAdvance(widest) + 4)
        return found

    def _on_search(self) -> None:
        self._workbench.commands.trigger("help.palette")

    def _on_connection_changed(self, connection: str) -> None:
        self._draw()

    def _on_health_changed(self, health: Health) -> None:
        self._draw()

    def _draw(self) -> None:
        state, palette = self._workbench.state, self._workbench.theme.palette
        colours = {
            Connection.ONLINE: palette.good,
            Connection.CONNECTING: palette.muted,
            Connection.LOST: palette.bad,
        }
        connection = state.connection
        picture = self._workbench.theme.icon(_ICONS[connection], colours[connection])
        self._dot.setPixmap(picture.pixmap(_ICON))
        self.daemon.setText(connection.value)
        self.daemon.setAccessibleName(f"Daemon: {connection.value}")
        tooltip = texts.daemon_tooltip(connection, state.connection_problem, state.health)
        self._dot.setToolTip(tooltip)
        self.daemon.setToolTip(tooltip)
        health = state.health if connection is Connection.ONLINE else None
        self.cpus.setText(texts.cpus_text(health))
        self.cpus.setToolTip(texts.cpus_tooltip(health))
        self.gpus.setText(texts.gpus_text(health))
        self.gpus.setToolTip(texts.gpus_tooltip(health))

    def _read_disk(self) -> None:
        """Elsewhere: a network drive that hangs must not hang the window."""
        root = self._workbench.home.root
        if self._reading is None or self._reading.is_done:
            self._reading = self._workbench.bridge.work(
                lambda: shutil.disk_usage(root).free, self._on_disk, self._on_no_disk
            )

    def _on_disk(self, free_bytes: int) -> None:
        self.disk.setText(texts.disk_text(free_bytes))
        self.disk.setToolTip(f"Free below {self._workbench.home.root}")

    def _on_no_disk(self, error: MosaicError) -> None:
        self.disk.setText(texts.disk_text(None))
        self.disk.setToolTip(error.message)


class Menus:
    """Commands whose ids differ before the last dot are parted by a line.

    Those that are named for the menu come first, as "view.theme.dark" does in "View".
    """

    def __init__(self, bar: QMenuBar, commands: Commands) -> None:
        self._commands = commands
        self._menus: dict[str, QMenu] = {}
        for title in MENUS:
            menu = bar.addMenu(title)
            menu.setToolTipsVisible(True)
            self._menus[title] = menu
            self._fill(title)
        commands.added.connect(self._on_added)

    def __getitem__(self, title: str) -> QMenu:
        return self._menus[title]

    def _on_added(self, id: str) -> None:
        title = self._commands.menu_of(id)
        if title:
            self._fill(title)

    def _fill(self, title: str) -> None:
        menu = self._menus[title]
        menu.clear()
        own = f"{title.lower()}."
        group = ""
        for action in sorted(
            self._commands.of_menu(title),
            key=lambda action: not action.objectName().startswith(own),
        ):
            own_group = action.objectName().rpartition(".")[0]
            if group and own_group != group:
                menu.addSeparator()
            group = own_group
            menu.addAction(action)
        menu.menuAction().setVisible(not menu.isEmpty())


class ConnectionBanner(Banner):
    """Above the centre as long as the daemon is away."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__(workbench.theme, "lan-disconnect")
        self._state = workbench.state
        # Given by whoever feeds the state, which is made after the window.
        self.start_daemon: Callable[[], None] | None = None
        workbench.state.connection_changed.connect(self._on_connection_changed)
        self._on_connection_changed("")

    def _on_connection_changed(self, connection: str) -> None:
        state = self._state
        found = banner_text(state.connection, state.connection_problem, state.is_daemon_stopped)
        if found.can_start and self.start_daemon is not None:
            self.show_text(found.text, "Start it", self.start_daemon)
        else:
            self.show_text(found.text)
