"""MainWindow: the panels and their places."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QVBoxLayout, QWidget

from mosaic.gui.launch.panel import LaunchPanel
from mosaic.gui.runs.panel import RunsPanel
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.shell.docks import DockShares, FullScreen
from mosaic.gui.shell.header import ConnectionBanner, Header, Menus
from mosaic.gui.shell.overlays import AboutOverlay, ConsentOverlay, ShortcutsOverlay
from mosaic.gui.shell.palette import CommandPalette
from mosaic.gui.shell.snackbar import Snackbar
from mosaic.gui.shell.stage_view import StageView
from mosaic.gui.shell.tabs_panel import TabsPanel
from mosaic.gui.shell.window_commands import WindowCommands, WindowParts
from mosaic.gui.state.targets import Page
from mosaic.gui.welcome.solved_banner import SolvedBanner
from mosaic.gui.widgets.roles import with_role

FIRST_SIZE = (1280, 800)
_LEAST_LEFT = 292  # less would cut the form off
_EDGE = 8
# Counts up when docks change, so that an old arrangement is not forced on them.
_LAYOUT_VERSION = 1


class MainWindow(QMainWindow):
    """Made empty first: commands belong to a window, and panels need commands."""

    closed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("window")
        self.setWindowTitle("MOSAIC")
        self._docks: DockShares | None = None  # while it is empty
        self.full_screen = FullScreen(self)
        self.resize(*FIRST_SIZE)

    def fill(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self.launch_panel = LaunchPanel(workbench)
        self.stage = StageView(workbench)
        self.tabs_panel = TabsPanel(workbench)
        self.runs_panel = RunsPanel(workbench)
        self.snackbar = Snackbar(workbench.theme, self)
        workbench.state.said.connect(self.snackbar.show_notice)
        self.banner = ConnectionBanner(workbench)
        self.solved = SolvedBanner(workbench)
        self.setCentralWidget(self._centre())
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        areas = Qt.DockWidgetArea
        self.launch_dock = self._dock("Agent", self.launch_panel, areas.LeftDockWidgetArea)
        self.tabs_dock = self._dock("Run", self.tabs_panel, areas.RightDockWidgetArea)
        self.runs_dock = self._dock("Runs", self.runs_panel, areas.BottomDockWidgetArea)
        self.launch_dock.setMinimumWidth(_LEAST_LEFT)
        self._docks = DockShares(self, self.launch_dock, self.tabs_dock, self.runs_dock)
        self._restore()
        self._add_commands()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.full_screen.leave()  # a window opens as it was before
        settings = self._workbench.settings
        settings.setValue("window/geometry", self.saveGeometry())
        settings.setValue("window/docks", self.saveState(_LAYOUT_VERSION))
        settings.sync()
        self.stage.close_pages()
        self.tabs_panel.close_tabs()
        self.snackbar.dismiss()  # its timer ends with it
        super().closeEvent(event)
        self.closed.emit()

    def event(self, event: QEvent) -> bool:
        """Layouts come before paint: what appears inside a scroll area squeezes its neighbours
        until the area has grown, and that must not be seen."""
        if event.type() == QEvent.Type.UpdateRequest:
            QCoreApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest)
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._docks is not None and not self.full_screen.is_on:
            self._docks.fit(event.size())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.full_screen.is_on:
            self.full_screen.leave()
        elif event.key() != Qt.Key.Key_Escape or not self._workbench.state.leave_page():
            super().keyPressEvent(event)

    def _centre(self) -> QWidget:
        centre = with_role(QWidget(), "plain")
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.banner)
        layout.addWidget(self.solved)
        layout.addWidget(self.stage, 1)
        return centre

    def _dock(self, title: str, panel: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock-{title.lower()}")
        dock.setFeatures(QDockWidget.DockWidgetFeature.DockWidgetClosable)
        dock.setTitleBarWidget(QWidget())  # panels have headings of their own
        around = QWidget()
        layout = QVBoxLayout(around)
        left = _EDGE if area != Qt.DockWidgetArea.RightDockWidgetArea else 0
        right = _EDGE if area != Qt.DockWidgetArea.LeftDockWidgetArea else 0
        bottom = _EDGE if area == Qt.DockWidgetArea.BottomDockWidgetArea else 0
        layout.setContentsMargins(left, 0, right, bottom)
        layout.addWidget(panel)
        dock.setWidget(around)
        self.addDockWidget(area, dock)
        return dock

    def _add_commands(self) -> None:
        """After the panels: each has added its own."""
        workbench = self._workbench
        self.palette_overlay = CommandPalette(workbench, self)
        self.shortcuts_overlay = ShortcutsOverlay(workbench.commands, self)
        self.about_overlay = AboutOverlay(workbench.home, self)
        self.consent_overlay = ConsentOverlay(self)
        workbench.state.consent_asked.connect(self.consent_overlay.ask)
        parts = WindowParts(
            window=self,
            launch_dock=self.launch_dock,
            tabs_dock=self.tabs_dock,
            runs_dock=self.runs_dock,
            tabs_panel=self.tabs_panel,
            full_screen=self.full_screen,
            palette=self.palette_overlay,
            shortcuts=self.shortcuts_overlay,
            about=self.about_overlay,
            show_doctor=self._show_doctor,
            quit=self._quit,
        )
        self._window_commands = WindowCommands(workbench, parts)
        bar = self.menuBar()
        bar.setNativeMenuBar(False)  # the header is in the same row
        self.menus = Menus(bar, workbench.commands)
        self.header = Header(workbench)
        bar.setCornerWidget(self.header, Qt.Corner.TopRightCorner)

    def _show_doctor(self) -> None:
        from mosaic.gui.welcome.page import WelcomePage

        page = self.stage.page(Page.WELCOME)
        assert isinstance(page, WelcomePage)
        page.show_checks()

    def _quit(self) -> None:
        self.close()

    def _restore(self) -> None:
        settings = self._workbench.settings
        geometry, docks = settings.value("window/geometry"), settings.value("window/docks")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if isinstance(docks, QByteArray):
            self.restoreState(docks, _LAYOUT_VERSION)
