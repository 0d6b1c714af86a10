"""RunCommands: the actions on runs, in menus, shortcuts and rows, and what they ask first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QMenu, QPushButton, QWidget

from mosaic.client.exporting import CSV, TENSORBOARD
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_record import RunRecord
from mosaic.export.destination import folder_name
from mosaic.front.training_config import label as file_label
from mosaic.gui.runs.label_popups import NotePopup, TagsPopup
from mosaic.gui.runs.model.labels import known_tags
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.possible_actions import (
    ACTION_LOOKS,
    ACTION_MENU,
    SINGLE,
    RunAction,
    possible_ids,
    selection_problem,
)
from mosaic.gui.state.targets import Page, ReplayTarget
from mosaic.gui.widgets.roles import label, with_role
from mosaic.paths import Home

_SUFFIX = ".mosaic.zip"

Chosen = Callable[[Path], None]


def ask_archive_place(parent: QWidget, record: RunRecord, chosen: Chosen) -> QFileDialog:
    dialog = _dialog(parent, f"Archive {record.run_name}")
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setNameFilter(f"Archives (*{_SUFFIX})")
    dialog.selectFile(archive_name(record))
    dialog.fileSelected.connect(lambda path: chosen(_with_suffix(Path(path))))
    dialog.show()
    return dialog


def ask_export_place(
    parent: QWidget, record: RunRecord, export_format: str, chosen: Chosen
) -> QFileDialog:
    """The export gets a folder of its own in the one that is chosen."""
    dialog = _dialog(parent, f"Export {record.run_name}: choose a folder")
    dialog.setFileMode(QFileDialog.FileMode.Directory)
    dialog.setOption(QFileDialog.Option.ShowDirsOnly)
    name = f"{folder_name(record.run_name)}-{export_format}"
    dialog.fileSelected.connect(lambda path: chosen(Path(path) / name))
    dialog.show()
    return dialog


def archive_name(record: RunRecord) -> str:
    return f"{file_label(record.run_name).strip('-.') or 'run'}-{record.run_id}{_SUFFIX}"


def _dialog(parent: QWidget, title: str) -> QFileDialog:
    dialog = QFileDialog(parent, title, str(Path.home()))
    dialog.setModal(False)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return dialog


def _with_suffix(path: Path) -> Path:
    return path if path.name.endswith(".zip") else path.with_name(f"{path.name}{_SUFFIX}")


_WIDTH = 420
_LONGEST = 200


class StopReason(QWidget):
    """A popup: a click elsewhere, or Escape, and nothing is stopped."""

    given = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        with_role(self, "card")
        self.setObjectName("stop-reason")
        self.line = QLineEdit()
        self.line.setMaxLength(_LONGEST)
        self.line.setPlaceholderText("why, for example: diverged")
        self.line.setAccessibleName("Why the run is stopped")
        self.line.returnPressed.connect(self._on_given)
        self.button = with_role(QPushButton("Stop"), "primary")
        self.button.clicked.connect(self._on_given)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(label("Stop because"))
        layout.addWidget(self.line, 1)
        layout.addWidget(self.button)
        self.setFixedWidth(_WIDTH)

    def open(self) -> None:
        panel = self.parentWidget()
        assert panel is not None
        self.line.clear()
        self.adjustSize()
        corner = panel.mapToGlobal(QPoint(16, 0))
        self.move(corner.x(), max(0, corner.y() - self.height() - 8))
        self.show()
        self.line.setFocus()

    def _on_given(self) -> None:
        self.hide()
        self.given.emit(self.line.text().strip())


CONFIG_TAB = "config"


class RunCommands:
    """The actions on runs, in menus, shortcuts and rows."""

    def __init__(self, workbench: Workbench, panel: QWidget, rename: Callable[[str], None]) -> None:
        """`rename` makes the name of a run a field."""
        self._workbench, self._panel, self._rename = workbench, panel, rename
        self._commands = workbench.commands
        self.stop_reason = StopReason(panel)
        self.stop_reason.given.connect(self._on_reason_given)
        self._reasoned: list[str] = []
        self.tags_popup, self.note_popup = TagsPopup(panel), NotePopup(panel)
        for popup in (self.tags_popup, self.note_popup):
            popup.given.connect(self._on_labelled)
        for action in ACTION_MENU:
            if action is not None:
                look = ACTION_LOOKS[action]
                self._commands.add(
                    action.value,
                    look.title,
                    _bound(self.perform, action),
                    menu="Compare" if action is RunAction.COMPARE else "Run",
                    shortcut=look.shortcut,
                    icon=look.icon,
                )
        self.menu: QMenu | None = None
        state = workbench.state
        state.selection_changed.connect(self._on_changed)
        state.runs.changed.connect(self._on_runs_changed)
        state.workers_changed.connect(self._on_changed)
        self._on_changed()

    def perform(self, action: RunAction, run_ids: list[str] | None = None) -> None:
        """With what is selected, or with these; where it cannot be done, that is said."""
        state = self._workbench.state
        wanted = list(state.selection) if run_ids is None else run_ids
        records = [record for run in wanted if (record := state.runs.get(run)) is not None]
        able = [self._capabilities(record) for record in records]
        if problem := selection_problem(action, records, able):
            state.say(Notice(f"{problem}."))
            return
        if action in SINGLE:
            self._do_one(action, records[0])
        elif action is RunAction.COMPARE:
            state.compare(record.run_id for record in records)
        else:
            chosen = possible_ids(action, zip(records, able, strict=True))
            self._do_all(action, chosen)
            left = len(records) - len(chosen)
            if left and action is RunAction.DELETE:
                them = "1 run is" if left == 1 else f"{left} runs are"
                state.say(Notice(f"{them} still going on and not deleted: stop them first."))

    def _do_all(self, action: RunAction, run_ids: list[str]) -> None:
        act = self._workbench.run_actions
        match action:
            case RunAction.STOP:
                act.stop(run_ids)
            case RunAction.STOP_WITH_REASON:
                self._reasoned = run_ids
                self.stop_reason.open()
            case RunAction.PAUSE:
                act.pause(run_ids)
            case RunAction.CONTINUE:
                act.unpause(run_ids)
            case RunAction.RESUBMIT:
                act.resubmit(run_ids)
            case RunAction.COPY_ID:
                self._copy("\n".join(run_ids), "Id copied" if len(run_ids) == 1 else "Ids copied")
            case RunAction.PIN | RunAction.UNPIN:
                act.pin(run_ids, action is RunAction.PIN)
            case RunAction.TAG:
                records = [run for item in run_ids if (run := self._workbench.state.runs.get(item))]
                runs = self._workbench.state.runs.newest_first()
                self.tags_popup.open(records, known_tags(runs))
            case RunAction.DELETE:
                act.delete(run_ids)

    def _do_one(self, action: RunAction, record: RunRecord) -> None:
        act, state, run_id = self._workbench.run_actions, self._workbench.state, record.run_id
        match action:
            case RunAction.SHOW:
                self.show(run_id)
            case RunAction.RESUME:
                act.resume(run_id)
            case RunAction.EVALUATE:
                act.evaluate(run_id)
            case RunAction.REPLAY:
                state.show_replay(ReplayTarget(run_id))
            case RunAction.EDIT:
                act.edit(run_id)
            case RunAction.RENAME:
                self._rename(run_id)
            case RunAction.NOTE:
                self.note_popup.open(record)
            case RunAction.CONFIG:
                self._lead(run_id)
                state.ask_tab(CONFIG_TAB)
            case RunAction.FOLDER:
                act.read_folder(run_id, self._open_folder)
            case RunAction.COPY_COMMAND:
                act.read_command(run_id, self._home(), self._copy_command)
            case RunAction.ARCHIVE:
                ask_archive_place(
                    self._panel,
                    record,
                    lambda path: act.archive(run_id, path, self._open_folder),
                )
            case RunAction.EXPORT_CSV | RunAction.EXPORT_TENSORBOARD:
                kind = CSV if action is RunAction.EXPORT_CSV else TENSORBOARD
                ask_export_place(
                    self._panel,
                    record,
                    kind,
                    lambda folder: act.export(run_id, kind, folder, self._open_folder),
                )

    def show(self, run_id: str) -> None:
        self._lead(run_id)
        self._workbench.state.show_page(Page.LIVE)

    def show_menu(self, at: QPoint) -> None:
        """What can be done with the selection, and nothing that cannot."""
        menu = QMenu(self._panel)
        menu.setObjectName("runs-menu")
        for action in ACTION_MENU:
            if action is None:
                menu.addSeparator()
            elif self._commands[action.value].isEnabled():
                menu.addAction(self._commands[action.value])
        menu.aboutToHide.connect(menu.deleteLater)
        self.menu = menu
        menu.popup(at)

    def _lead(self, run_id: str) -> None:
        state = self._workbench.state
        if run_id != state.leading_id:
            state.select((run_id,))

    def _on_labelled(self, change: LabelChange, run_ids: list[str]) -> None:
        self._workbench.run_actions.label(run_ids, change)

    def _on_reason_given(self, reason: str) -> None:
        self._workbench.run_actions.stop(self._reasoned, reason or "user_cancel")

    def _on_changed(self, *_: object) -> None:
        state = self._workbench.state
        records = [record for run in state.selection if (record := state.runs.get(run))]
        able = [self._capabilities(record) for record in records]
        for action in ACTION_MENU:
            if action is not None:
                problem = selection_problem(action, records, able)
                self._commands.set_problem(action.value, problem)

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if not changed.isdisjoint(self._workbench.state.selection):
            self._on_changed()

    def _capabilities(self, record: RunRecord) -> WorkerCapabilities | None:
        worker = self._workbench.state.worker(record.worker)
        return worker.capabilities if worker else None

    def _open_folder(self, folder: Path) -> None:
        if folder.is_dir():
            QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
        else:
            self._workbench.state.say(
                Notice(f"{folder} is not on this machine. Look where the run's daemon runs.")
            )

    def _copy_command(self, command: str) -> None:
        self._copy(command, "Command copied")

    def _copy(self, text: str, told: str) -> None:
        QGuiApplication.clipboard().setText(text)
        self._workbench.state.say(Notice(told))

    def _home(self) -> Path | None:
        """None where a command finds the home by itself."""
        root = self._workbench.home.root
        return None if root == Home.current().root else root


def _bound(perform: Callable[[RunAction], None], action: RunAction) -> Callable[[], None]:
    return lambda: perform(action)
