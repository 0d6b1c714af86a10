"""Menus: shows every command in the menu it names, whenever it was added."""

from __future__ import annotations

from PySide6.QtWidgets import QMenu, QMenuBar

from mosaic.gui.commands import MENUS, Commands


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
