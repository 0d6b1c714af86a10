"""WindowParts: the parts of the window that its own commands move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QDockWidget, QMainWindow

if TYPE_CHECKING:
    from mosaic.gui.shell.about_overlay import AboutOverlay
    from mosaic.gui.shell.full_screen import FullScreen
    from mosaic.gui.shell.palette import CommandPalette
    from mosaic.gui.shell.shortcuts_overlay import ShortcutsOverlay
    from mosaic.gui.tabs.tabs_panel import TabsPanel


@dataclass(frozen=True)
class WindowParts:
    window: QMainWindow
    launch_dock: QDockWidget
    tabs_dock: QDockWidget
    runs_dock: QDockWidget
    tabs_panel: TabsPanel
    full_screen: FullScreen
    palette: CommandPalette
    shortcuts: ShortcutsOverlay
    about: AboutOverlay
    show_doctor: Callable[[], None]
    quit: Callable[[], None]
