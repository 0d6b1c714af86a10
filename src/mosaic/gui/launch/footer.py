"""LaunchFooter: the button that starts it, and what else can be done with the form."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.launch.launcher import Launcher
from mosaic.gui.launch.model.launch_form import LaunchForm
from mosaic.gui.launch.model.saved_values import name_problem
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, set_property, with_role

_ICON = QSize(14, 14)
READY, WRONG, BUSY = "ready", "wrong", "busy"
_LOOKS = {READY: "check", WRONG: "alert-circle-outline", BUSY: "progress-clock"}


class LaunchFooter(QWidget):
    """The button that starts it, why it cannot be pressed, and what else can be done."""

    launched = Signal()
    menu_opening = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "footer")
        self._theme, self._look = theme, READY
        self._picture = QLabel()
        self._picture.setFixedSize(_ICON)
        self.status = label(role="caption")
        self.status.setObjectName("launch-status")
        self.status.setWordWrap(True)
        self.status.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.button = with_role(QPushButton(), "primary")
        self.button.setObjectName("launch")
        self.button.clicked.connect(self.launched)
        self.menu = QMenu(self)
        self.menu.aboutToShow.connect(self.menu_opening)
        self.more = with_role(QToolButton(), "flat")
        self.more.setObjectName("launch-more")
        self.more.setAccessibleName("More")
        self.more.setToolTip("Dry run, copy command, presets, reset")
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setMenu(self.menu)
        line = QHBoxLayout()
        line.setSpacing(6)
        line.addWidget(self._picture, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.status, 1)
        buttons = QHBoxLayout()
        buttons.setSpacing(4)
        buttons.addWidget(self.button, 1)
        buttons.addWidget(self.more)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 12)
        layout.setSpacing(6)
        layout.addLayout(line)
        layout.addLayout(buttons)
        theme.changed.connect(self._draw)
        self._draw()

    def show_ready(self, button: str, text: str, shortcut: str) -> None:
        self._show(button, text, READY)
        self.button.setToolTip(f"{button} ({shortcut})")

    def show_problem(self, button: str, reason: str) -> None:
        self._show(button, reason, WRONG)
        self.button.setToolTip(reason)

    def show_busy(self, button: str, text: str) -> None:
        self._show(button, text, BUSY)
        self.button.setToolTip(text)

    def show_error(self, text: str) -> None:
        """What went wrong with the last attempt: the next one is not forbidden."""
        self.status.setText(text)
        set_property(self.status, "role", "error")
        self._look = WRONG
        self._draw()

    def _show(self, button: str, text: str, look: str) -> None:
        self.button.setText(button)
        self.button.setEnabled(look == READY)
        self.status.setText(text)
        set_property(self.status, "role", {READY: "good", WRONG: "error"}.get(look, "caption"))
        self._look = look
        self._draw()

    def _draw(self) -> None:
        palette = self._theme.palette
        colour = {READY: palette.good, WRONG: palette.bad}.get(self._look, palette.muted)
        self._picture.setPixmap(self._theme.icon(_LOOKS[self._look], colour).pixmap(_ICON))
        self.more.setIcon(self._theme.icon("dots-horizontal"))


class LaunchMenu(QObject):
    """What else can be done with the form, behind the three dots."""

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


class PresetRow(QWidget):
    """The name of a preset to be saved, typed in place."""

    named = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("preset-row")
        self.line = QLineEdit()
        self.line.setPlaceholderText("Preset name")
        self.line.setAccessibleName("Name of the preset")
        self._save = QPushButton("Save")
        self._cancel = with_role(QPushButton("Cancel"), "flat")
        self._problem = label(role="error")
        self._problem.hide()
        top = QHBoxLayout()
        top.setSpacing(4)
        top.addWidget(self.line, 1)
        top.addWidget(self._save)
        top.addWidget(self._cancel)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(top)
        layout.addWidget(self._problem)
        self.line.returnPressed.connect(self._on_save)
        self.line.textChanged.connect(self._on_text_changed)
        self._save.clicked.connect(self._on_save)
        self._cancel.clicked.connect(self.hide)
        self.hide()

    def ask(self, name: str = "") -> None:
        self.line.setText(name)
        self.line.selectAll()
        self.show()
        self.line.setFocus()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.hide()
        else:
            super().keyPressEvent(event)

    def _on_text_changed(self, _: str) -> None:
        self._problem.hide()
        set_property(self.line, "invalid", False)

    def _on_save(self) -> None:
        name = self.line.text().strip()
        problem = name_problem(name)
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        set_property(self.line, "invalid", bool(problem))
        if not problem:
            self.hide()
            self.named.emit(name)
