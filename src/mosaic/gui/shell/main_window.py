"""MainWindow: the panels and their places."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QDockWidget, QMainWindow, QVBoxLayout, QWidget

from mosaic.gui.commands import MENUS
from mosaic.gui.launch.launch_panel import LaunchPanel
from mosaic.gui.runs.runs_panel import RunsPanel
from mosaic.gui.shell.snackbar import Snackbar
from mosaic.gui.stage.stage_view import StageView
from mosaic.gui.tabs.tabs_panel import TabsPanel
from mosaic.gui.workbench import Workbench

FIRST_SIZE = (1280, 800)
_LEFT_WIDTH, _RIGHT_WIDTH, _BOTTOM_HEIGHT = 300, 380, 220
_EDGE = 8
# Counts up when docks change, so that an old arrangement is not forced on them.
_LAYOUT_VERSION = 1


class MainWindow(QMainWindow):
    """Made empty first: commands belong to a window, and panels need commands."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("window")
        self.setWindowTitle("MOSAIC")
        self.resize(*FIRST_SIZE)

    def fill(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self.launch_panel = LaunchPanel(workbench)
        self.stage = StageView(workbench)
        self.tabs_panel = TabsPanel(workbench)
        self.runs_panel = RunsPanel(workbench)
        self.snackbar = Snackbar(workbench.theme, self)
        workbench.state.said.connect(self.snackbar.show_notice)
        self.setCentralWidget(self.stage)
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        areas = Qt.DockWidgetArea
        self.launch_dock = self._dock("Agent", self.launch_panel, areas.LeftDockWidgetArea)
        self.tabs_dock = self._dock("Run", self.tabs_panel, areas.RightDockWidgetArea)
        self.runs_dock = self._dock("Runs", self.runs_panel, areas.BottomDockWidgetArea)
        sides = [self.launch_dock, self.tabs_dock]
        self.resizeDocks(sides, [_LEFT_WIDTH, _RIGHT_WIDTH], Qt.Orientation.Horizontal)
        self.resizeDocks([self.runs_dock], [_BOTTOM_HEIGHT], Qt.Orientation.Vertical)
        self._fill_menus()
        self._restore()

    def closeEvent(self, event: QCloseEvent) -> None:
        settings = self._workbench.settings
        settings.setValue("window/geometry", self.saveGeometry())
        settings.setValue("window/docks", self.saveState(_LAYOUT_VERSION))
        settings.sync()
        self.stage.close_pages()
        self.tabs_panel.close_tabs()
        super().closeEvent(event)

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

    def _fill_menus(self) -> None:
        bar = self.menuBar()
        for title in MENUS:
            actions = self._workbench.commands.of_menu(title)
            if actions:
                bar.addMenu(title).addActions(actions)

    def _restore(self) -> None:
        settings = self._workbench.settings
        geometry, docks = settings.value("window/geometry"), settings.value("window/docks")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if isinstance(docks, QByteArray):
            self.restoreState(docks, _LAYOUT_VERSION)
