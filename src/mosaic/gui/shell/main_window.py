"""MainWindow: the panels and their places."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QCoreApplication, QEvent, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QDockWidget,
    QLayout,
    QMainWindow,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.launch.panel import LaunchPanel
from mosaic.gui.runs.panel import RunsPanel
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.shell.docks import DockShares, FullScreen
from mosaic.gui.shell.folding import Folding, SidePanel
from mosaic.gui.shell.header import ConnectionBanner, Header, Menus
from mosaic.gui.shell.overlays import AboutOverlay, ConsentOverlay, ShortcutsOverlay
from mosaic.gui.shell.palette import CommandPalette
from mosaic.gui.shell.pop_outs import CENTRE, PopOuts
from mosaic.gui.shell.snackbar import Snackbar
from mosaic.gui.shell.stage_view import StageView
from mosaic.gui.shell.tabs_panel import TabsPanel
from mosaic.gui.shell.window_commands import WindowCommands, WindowParts
from mosaic.gui.state.targets import Page
from mosaic.gui.welcome.solved_banner import SolvedBanner
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.roles import with_role

FIRST_SIZE = (1280, 800)
LEAST_SIZE = (760, 424)  # folded; three columns would not let it become narrow enough to fold
_LEAST_CENTRE = (400, 220)
_EDGE = 8
_BESIDE_MENU = 24  # its padding, as the style sheet has it, and what Qt leaves between two
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
        self._header: Header | None = None
        self.full_screen = FullScreen(self, lambda: self.pop_outs.window(CENTRE))
        self.setMinimumSize(*LEAST_SIZE)
        self.resize(*FIRST_SIZE)

    def fill(self, workbench: Workbench) -> None:
        self._workbench = workbench
        self.pop_outs = PopOuts(workbench, self.close_topmost)
        self.launch_panel = LaunchPanel(workbench)
        self.stage = StageView(workbench)
        self.tabs_panel = TabsPanel(workbench, self.pop_outs)
        self.runs_panel = RunsPanel(workbench)
        self.snackbar = Snackbar(workbench.theme, self)
        workbench.state.said.connect(self.snackbar.show_notice)
        self.banner = ConnectionBanner(workbench)
        self.solved = SolvedBanner(workbench)
        self.setCentralWidget(self._centre())
        self.setCorner(Qt.Corner.BottomLeftCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.BottomDockWidgetArea)
        areas = Qt.DockWidgetArea
        side = SidePanel(self.launch_panel)
        self.launch_dock = self._dock("Agent", side, areas.LeftDockWidgetArea)
        self.tabs_dock = self._dock("Run", self.tabs_panel, areas.RightDockWidgetArea)
        self.runs_dock = self._dock("Runs", self.runs_panel, areas.BottomDockWidgetArea)
        self._docks = DockShares(self, self.launch_dock, self.tabs_dock, self.runs_dock)
        self.folding = Folding(self, side, self.launch_dock, self.tabs_dock, self.tabs_panel)
        self.folding.follow(workbench.state)
        self.folding.changed.connect(self._give_centre_edges)
        self._restore()
        self._add_commands()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.full_screen.leave()  # a window opens as it was before
        self.folding.unfold()
        self.pop_outs.close_all()
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
        if self._header is not None:
            self._fit_header(self._header)
        if self._docks is not None and not self.full_screen.is_on:
            self.folding.fit(event.size())
            self._docks.fit(event.size())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() != Qt.Key.Key_Escape:
            super().keyPressEvent(event)
        else:
            self.close_topmost()

    def close_topmost(self) -> None:
        """What Escape does where no widget needs it: one thing at a time, never the selection."""
        if self.full_screen.is_on:
            self.full_screen.leave()
        elif not self._workbench.state.leave_page():
            self.snackbar.dismiss()

    def _centre(self) -> QWidget:
        centre = with_role(QWidget(), "plain")
        layout = QVBoxLayout(centre)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.banner)
        layout.addWidget(self.solved)
        self._stage_place = QWidget()
        self._stage_stack = QStackedLayout(self._stage_place)
        self._stage_stack.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)
        self._stage_stack.addWidget(self.stage)
        self._elsewhere = with_role(
            EmptyState(
                self._workbench.theme,
                "dock-window",
                "The centre is in a window of its own",
                "Closing that window brings it back.",
                "Dock it",
                self.toggle_centre,
            ),
            "panel",
        )
        self._stage_stack.addWidget(self._elsewhere)
        for part in (self.stage, self._stage_place):
            part.setMinimumSize(*_LEAST_CENTRE)
        layout.addWidget(self._stage_place, 1)
        return centre

    def toggle_centre(self) -> None:
        """Into a window of its own, or back."""
        if self.pop_outs.window(CENTRE) is not None:
            self.pop_outs.dock(CENTRE)
            return
        self.full_screen.leave()
        self._stage_stack.removeWidget(self.stage)
        self.pop_outs.take_out(CENTRE, "Centre", self.stage, self._dock_centre)
        self._stage_stack.setCurrentWidget(self._elsewhere)

    def _dock_centre(self) -> None:
        self._stage_stack.insertWidget(0, self.stage)
        self._stage_stack.setCurrentWidget(self.stage)

    def _give_centre_edges(self) -> None:
        """Where no dock stands beside it, the centre keeps the distance to the window's edge."""
        centre = self.centralWidget()
        layout = centre.layout() if centre is not None else None
        assert layout is not None
        left, right = (
            _EDGE if dock.isHidden() else 0 for dock in (self.launch_dock, self.tabs_dock)
        )
        layout.setContentsMargins(left, 0, right, 0)

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
            folding=self.folding,
            runs_dock=self.runs_dock,
            tabs_panel=self.tabs_panel,
            full_screen=self.full_screen,
            pop_outs=self.pop_outs,
            toggle_centre=self.toggle_centre,
            palette=self.palette_overlay,
            shortcuts=self.shortcuts_overlay,
            about=self.about_overlay,
            show_doctor=self._show_doctor,
            quit=self._quit,
        )
        self.window_commands = WindowCommands(workbench, parts)
        if self.pop_outs.was_out(CENTRE):
            self.toggle_centre()
        bar = self.menuBar()
        bar.setNativeMenuBar(False)  # the header is in the same row
        self.menus = Menus(bar, workbench.commands)
        self.header = Header(workbench)
        bar.setCornerWidget(self.header, Qt.Corner.TopRightCorner)
        self._header = self.header
        self._fit_header(self.header)

    def _fit_header(self, header: Header) -> None:
        bar = self.menuBar()
        # Not by their places: a menu that has no room has none.
        texts = (bar.fontMetrics().horizontalAdvance(action.text()) for action in bar.actions())
        header.fit(self.width() - sum(width + _BESIDE_MENU for width in texts) - 2 * _EDGE)
        # The bar gives its corner a new place only when it is resized itself.
        QCoreApplication.sendEvent(bar, QResizeEvent(bar.size(), bar.size()))

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
