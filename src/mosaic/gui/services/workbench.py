"""Workbench: what every panel is given. Commands: what the window can do, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from psygnal import Signal
from PySide6.QtCore import QSettings
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from mosaic.gui.services.async_bridge import AsyncBridge
from mosaic.gui.services.bundle_keeper import BundleKeeper
from mosaic.gui.services.run_actions import RunActions
from mosaic.gui.services.session import SessionKeeper
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.gui.theme.theme import Theme
from mosaic.paths import Home

MENUS = ("File", "Run", "View", "Compare", "Help")


class Commands:
    """Everything the workbench can do by name, for menus, shortcuts and the palette."""

    added = Signal(str)  # its id

    def __init__(self, window: QWidget, theme: Theme) -> None:
        self._window, self._theme = window, theme
        self._actions: dict[str, QAction] = {}
        self._menus: dict[str, str] = {}
        self._icons: dict[str, str] = {}
        self._problems: dict[str, str] = {}
        theme.changed.connect(self._draw_icons)

    @property
    def window(self) -> QWidget:
        """The one that they belong to."""
        return self._window

    def add(
        self,
        id: str,
        title: str,
        run: Callable[[], None],
        *,
        menu: str = "",
        shortcut: str = "",
        icon: str = "",
        is_checkable: bool = False,
    ) -> QAction:
        """`id` like "run.stop"; without a menu it is in the palette only."""
        action = QAction(title, self._window)
        action.setObjectName(id)
        action.setCheckable(is_checkable)
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
            action.setToolTip(f"{title} ({shortcut})")
        action.triggered.connect(lambda *_: run())
        self._window.addAction(action)  # shortcuts work without a menu, too
        self._actions[id] = action
        self._menus[id] = menu
        self._icons[id] = icon
        self._draw_icon(id)
        self.added.emit(id)
        return action

    def __getitem__(self, id: str) -> QAction:
        return self._actions[id]

    def __iter__(self) -> Iterator[QAction]:
        return iter(self._actions.values())

    def of_menu(self, menu: str) -> list[QAction]:
        return [action for id, action in self._actions.items() if self._menus[id] == menu]

    def menu_of(self, id: str) -> str:
        return self._menus[id]

    def set_problem(self, id: str, problem: str) -> None:
        """Why it cannot be done now, for its tool tip and the palette; empty: it can."""
        action = self._actions[id]
        action.setEnabled(not problem)
        self._problems[id] = problem
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.PortableText)
        title = action.text().replace("&", "")
        told = f"{title} ({keys})" if keys else title
        action.setToolTip(f"{told}\n{problem}" if problem else told)

    def problem_of(self, id: str) -> str:
        """Empty where it can be done."""
        if self._actions[id].isEnabled():
            return ""
        return self._problems.get(id) or "It cannot be done now"

    def trigger(self, id: str) -> None:
        self._actions[id].trigger()

    def _draw_icons(self) -> None:
        for id in self._actions:
            self._draw_icon(id)

    def _draw_icon(self, id: str) -> None:
        if name := self._icons[id]:
            self._actions[id].setIcon(self._theme.icon(name))


@dataclass
class Workbench:
    """What every panel is given."""

    home: Home
    state: WorkbenchState
    bridge: AsyncBridge
    theme: Theme
    commands: Commands
    settings: QSettings
    run_actions: RunActions
    bundles: BundleKeeper
    session: SessionKeeper
