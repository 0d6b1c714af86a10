"""LaunchMenu: what else can be done with the form, behind the three dots."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication, QMenu

from mosaic.gui.launch.launcher import Launcher
from mosaic.gui.state.launch_form import LaunchForm


class LaunchMenu(QObject):
    dry_run_asked = Signal()
    save_asked = Signal()
    preset_chosen = Signal(str)
    reset_asked = Signal()

    def __init__(self, menu: QMenu, launcher: Launcher) -> None:
        super().__init__(menu)
        self._menu, self._launcher = menu, launcher
        self._form: LaunchForm | None = None
        self._dry_run = menu.addAction("Dry run", self.dry_run_asked.emit)
        self._dry_run.setObjectName("dry-run-action")
        self._copy = menu.addAction("Copy command", self._on_copy)
        self._copy.setObjectName("copy-command-action")
        menu.addSeparator()
        self._save = menu.addAction("Save preset…", self._on_save)
        self._load = menu.addMenu("Load preset")
        self._delete = menu.addMenu("Delete preset")
        menu.addSeparator()
        self._reset = menu.addAction("Reset all", self.reset_asked.emit)

    def fill(self, form: LaunchForm | None, is_ready: bool) -> None:
        """Before it opens."""
        self._form = form
        self._dry_run.setEnabled(is_ready and form is not None)
        self._copy.setEnabled(form is not None)
        self._reset.setEnabled(form is not None)
        names = sorted(self._launcher.presets(form)) if form is not None else []
        for menu in (self._load, self._delete):
            menu.clear()
            menu.setEnabled(bool(names))
        for name in names:
            shown = name.replace("&", "&&")
            self._load.addAction(shown, partial(self.preset_chosen.emit, name))
            self._delete.addAction(shown, partial(self._on_delete, name))

    def _on_copy(self) -> None:
        if self._form is not None:
            QApplication.clipboard().setText(self._form.command)

    def _on_save(self) -> None:
        self.save_asked.emit()

    def _on_delete(self, name: str) -> None:
        if self._form is not None:
            self._launcher.delete_preset(self._form, name)
