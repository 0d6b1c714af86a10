"""WindowCommands: what the window itself can do, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QActionGroup, QDesktopServices, QKeySequence
from PySide6.QtWidgets import QDockWidget, QFileDialog, QMainWindow

import mosaic
from mosaic.contracts.run_record import RunRecord
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.shell.docks import FullScreen
from mosaic.gui.shell.folding import Folding, Side
from mosaic.gui.shell.model import zoom_steps
from mosaic.gui.shell.overlays import AboutOverlay, ShortcutsOverlay
from mosaic.gui.shell.palette import CommandPalette
from mosaic.gui.shell.pop_outs import CENTRE, PopOuts
from mosaic.gui.shell.tabs_panel import TabsPanel
from mosaic.gui.shell.zoom import Zoom
from mosaic.gui.state.notices import Notice, Severity, notice_of
from mosaic.gui.state.targets import Page
from mosaic.gui.theme import theme as themes


@dataclass(frozen=True)
class WindowParts:
    """The parts of the window that its own commands move."""

    window: QMainWindow
    folding: Folding
    runs_dock: QDockWidget
    tabs_panel: TabsPanel
    full_screen: FullScreen
    pop_outs: PopOuts
    toggle_centre: Callable[[], None]
    palette: CommandPalette
    shortcuts: ShortcutsOverlay
    about: AboutOverlay
    show_doctor: Callable[[], None]
    quit: Callable[[], None]


_TABS = 9
_ZOOMS: dict[str, Callable[[int], int]] = {
    "larger": zoom_steps.larger,
    "smaller": zoom_steps.smaller,
    "usual": lambda _: zoom_steps.USUAL,
}
_THEMES = {"system": "Theme of the system", "dark": "Dark theme", "light": "Light theme"}


class WindowCommands:
    """What the window itself can do, by name."""

    def __init__(self, workbench: Workbench, parts: WindowParts) -> None:
        self._workbench, self._parts = workbench, parts
        self._dialog: QFileDialog | None = None
        self.zoom = Zoom(workbench.settings)
        self._add_file()
        self._add_view()
        self._add_tabs()
        self._add_help()

    def _add_file(self) -> None:
        add = self._workbench.commands.add
        add(
            "file.import",
            "Import archive…",
            self._choose_archive,
            menu="File",
            shortcut="Ctrl+O",
            icon="archive-arrow-down-outline",
        )
        add(
            "file.home",
            "Open home folder",
            self._open_home,
            menu="File",
            icon="folder-open-outline",
        )
        add("file.end.quit", "Quit", self._parts.quit, menu="File", shortcut="Ctrl+Q")

    def _add_view(self) -> None:
        add, parts = self._workbench.commands.add, self._parts
        add("view.page.welcome", "Welcome", self._show_welcome, menu="View", icon="home-outline")
        add(
            "view.page.bundles",
            "Bundles",
            self._show_bundles,
            menu="View",
            icon="package-variant-closed",
        )
        add(
            "view.page.full_screen",
            "Full screen render",
            parts.full_screen.toggle,
            menu="View",
            shortcut="F",
            icon="fullscreen",
        )
        self._add_side("agent", "Agent panel", Side.FORM, "Ctrl+B")
        self._add_dock("runs", "Runs panel", parts.runs_dock, "Ctrl+J")
        self._add_side("run", "Run panel", Side.RUN, "Ctrl+Alt+B")
        self._add_pop_outs()
        self._add_zoom()
        group = QActionGroup(parts.window)
        for name in themes.NAMES:
            action = add(
                f"view.theme.{name}",
                _THEMES[name],
                partial(self._choose_theme, name),
                menu="View",
                is_checkable=True,
            )
            group.addAction(action)
            action.setChecked(self._workbench.theme.name == name)

    def _add_side(self, name: str, title: str, side: Side, keys: str) -> None:
        folding = self._parts.folding
        action = self._workbench.commands.add(
            f"view.dock.{name}",
            title,
            partial(folding.toggle, side),
            menu="View",
            shortcut=keys,
            is_checkable=True,
        )

        def show_state() -> None:
            action.setChecked(folding.is_shown(side))

        show_state()
        folding.changed.connect(show_state)

    def _add_dock(self, name: str, title: str, dock: QDockWidget, keys: str) -> None:
        shown = dock.toggleViewAction()
        action = self._workbench.commands.add(
            f"view.dock.{name}",
            title,
            shown.trigger,
            menu="View",
            shortcut=keys,
            is_checkable=True,
        )
        action.setChecked(shown.isChecked())
        shown.toggled.connect(action.setChecked)

    def _add_pop_outs(self) -> None:
        """In windows of their own, which closing them ends."""
        add, parts = self._workbench.commands.add, self._parts
        add(
            "view.window.tab",
            "Pop out the tab",
            parts.tabs_panel.pop_out,
            menu="View",
            shortcut="Ctrl+Shift+O",
            icon="dock-window",
        )
        centre = add(
            "view.window.centre",
            "Centre in a window of its own",
            parts.toggle_centre,
            menu="View",
            shortcut="Ctrl+Shift+Y",
            is_checkable=True,
        )
        add("view.window.dock", "Dock all windows", parts.pop_outs.dock_all, menu="View")

        def show_state() -> None:
            centre.setChecked(parts.pop_outs.window(CENTRE) is not None)
            problem = "" if parts.pop_outs.keys else "no view is in a window of its own"
            self._workbench.commands.set_problem("view.window.dock", problem)

        def show_tab_state(*_: object) -> None:
            docked = set(parts.tabs_panel.tab_ids) - set(parts.pop_outs.keys)
            is_there = bool(docked and self._workbench.state.details is not None)
            problem = "" if is_there else "there is no tab in the window"
            self._workbench.commands.set_problem("view.window.tab", problem)

        for changed, show in (
            (parts.pop_outs.changed, show_state),
            (parts.pop_outs.changed, show_tab_state),
            (self._workbench.state.details_changed, show_tab_state),
        ):
            changed.connect(show)
            show()

    def _add_zoom(self) -> None:
        add = self._workbench.commands.add
        for name, title, keys, icon in (
            ("larger", "Zoom in", ("Ctrl++", "Ctrl+="), "magnify-plus-outline"),
            ("smaller", "Zoom out", ("Ctrl+-", "Ctrl+_"), "magnify-minus-outline"),
            ("usual", "Usual size", ("Ctrl+0",), "magnify"),
        ):
            change = partial(self._zoom_to, _ZOOMS[name])
            action = add(
                f"view.zoom.{name}", title, change, menu="View", shortcut=keys[0], icon=icon
            )
            action.setShortcuts([QKeySequence(key) for key in keys])
        self._show_zoom_limits()

    def _add_tabs(self) -> None:
        add = self._workbench.commands.add
        for name, title, step, keys in (
            ("next", "Next tab", 1, "Ctrl+PgDown"),
            ("previous", "Previous tab", -1, "Ctrl+PgUp"),
        ):
            add(
                f"view.tab.{name}",
                title,
                partial(self._show_tab_beside, step),
                menu="View",
                shortcut=keys,
            )
        for number in range(1, _TABS + 1):
            show = partial(self._parts.tabs_panel.show_nth, number - 1)
            add(f"tab.{number}", f"Show tab {number}", show, shortcut=f"Ctrl+{number}")

    def _add_help(self) -> None:
        add, parts = self._workbench.commands.add, self._parts
        add(
            "help.palette",
            "Search everything…",
            parts.palette.open,
            menu="Help",
            shortcut="Ctrl+K",
            icon="magnify",
        )
        add(
            "help.shortcuts",
            "Keyboard shortcuts",
            parts.shortcuts.open,
            menu="Help",
            shortcut="?",
            icon="keyboard-outline",
        )
        add("help.doctor", "Doctor", self._show_doctor, menu="Help", icon="stethoscope")
        add(
            "help.documentation",
            "Documentation",
            self._open_documentation,
            menu="Help",
            icon="book-open-outline",
        )
        add("help.about", "About MOSAIC", parts.about.open, menu="Help", icon="information-outline")

    # What they do

    def _choose_archive(self) -> None:
        if self._dialog is not None:
            self._dialog.raise_()
            return
        dialog = QFileDialog(self._parts.window, "Import a run from an archive")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(["Archives of runs (*.zip)", "All files (*)"])
        dialog.fileSelected.connect(self._import)
        dialog.finished.connect(self._forget_dialog)
        self._dialog = dialog
        dialog.open()

    def _forget_dialog(self, result: int) -> None:
        if self._dialog is not None:
            self._dialog.deleteLater()
            self._dialog = None

    def _import(self, path: str) -> None:
        state = self._workbench.state
        state.say(Notice(f"Importing {Path(path).name} …"))
        self._workbench.bridge.ask(
            lambda client: client.import_run(path),
            self._on_imported,
            lambda error: state.say(notice_of(error)),
        )

    def _on_imported(self, record: RunRecord) -> None:
        state = self._workbench.state
        state.runs.update([record])
        state.select([record.run_id])
        state.show_page(Page.LIVE)
        state.say(Notice(f"{record.run_name} imported", Severity.GOOD))

    def _open_home(self) -> None:
        self._open(self._workbench.home.root)

    def _open_documentation(self) -> None:
        """The pages travel with the source, not with what is installed from it."""
        root = Path(mosaic.__file__).parents[2]
        pages = (root / "build" / "site" / "index.html", root / "docs" / "index.md")
        found = next((page for page in pages if page.exists()), None)
        if found is not None:
            self._open(found)
        else:
            self._workbench.state.say(
                Notice(
                    "The documentation is in the folder `docs` of the source. "
                    "`mosaic --help` explains every command."
                )
            )

    def _open(self, path: Path) -> None:
        if not QDesktopServices.openUrl(QUrl.fromLocalFile(str(path))):
            self._workbench.state.say(
                Notice(f"Nothing here opens it by itself: {path}", seconds=0),
            )

    def _show_tab_beside(self, step: int) -> None:
        """After the last comes the first."""
        tabs = self._parts.tabs_panel
        docked = tabs.bar.ids
        if tabs.current_id in docked:
            number = docked.index(tabs.current_id) + step
            tabs.show_tab(docked[number % len(docked)])

    def _zoom_to(self, step: Callable[[int], int]) -> None:
        percent = step(self.zoom.percent)
        self.zoom.set_percent(percent)
        self._workbench.theme.redraw()  # as sharp as before
        self._show_zoom_limits()
        self._workbench.state.say(Notice(zoom_steps.zoom_text(percent, self.zoom.drawn)))

    def _show_zoom_limits(self) -> None:
        percent = self.zoom.percent
        for name, step in _ZOOMS.items():
            problem = f"it is at {percent} % already" if step(percent) == percent else ""
            self._workbench.commands.set_problem(f"view.zoom.{name}", problem)

    def _choose_theme(self, name: str) -> None:
        self._workbench.theme.choose(name)
        self._workbench.settings.setValue("theme", name)

    def _show_welcome(self) -> None:
        self._workbench.state.show_page(Page.WELCOME)

    def _show_bundles(self) -> None:
        self._workbench.state.show_bundles()

    def _show_doctor(self) -> None:
        self._workbench.state.show_page(Page.WELCOME)
        self._parts.show_doctor()
