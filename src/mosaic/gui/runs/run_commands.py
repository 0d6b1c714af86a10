"""RunCommands: the actions on runs, in menus, shortcuts and rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QPoint, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from mosaic.client.exporting import CSV, TENSORBOARD
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import RunRecord
from mosaic.gui.runs.run_action_looks import LOOKS, MENU
from mosaic.gui.runs.save_places import ask_archive_place, ask_export_place
from mosaic.gui.runs.stop_reason import StopReason
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.runs_offers import SINGLE, RunAction, group_problem, possible
from mosaic.gui.state.targets import Page, ReplayTarget
from mosaic.gui.workbench import Workbench
from mosaic.paths import Home

CONFIG_TAB = "config"


class RunCommands:
    def __init__(self, workbench: Workbench, panel: QWidget) -> None:
        self._workbench, self._panel = workbench, panel
        self._commands = workbench.commands
        self.stop_reason = StopReason(panel)
        self.stop_reason.given.connect(self._on_reason_given)
        self._reasoned: list[str] = []
        for action in MENU:
            if action is not None:
                look = LOOKS[action]
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
        if problem := group_problem(action, records, able):
            state.say(Notice(f"{problem}."))
            return
        if action in SINGLE:
            self._do_one(action, records[0])
        elif action is RunAction.COMPARE:
            state.compare(record.run_id for record in records)
        else:
            chosen = possible(action, zip(records, able, strict=True))
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
        for action in MENU:
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

    def _on_reason_given(self, reason: str) -> None:
        self._workbench.run_actions.stop(self._reasoned, reason or "user_cancel")

    def _on_changed(self, *_: object) -> None:
        state = self._workbench.state
        records = [record for run in state.selection if (record := state.runs.get(run))]
        able = [self._capabilities(record) for record in records]
        for action in MENU:
            if action is not None:
                problem = group_problem(action, records, able)
                command = self._commands[action.value]
                command.setEnabled(not problem)
                look = LOOKS[action]
                title = f"{look.title} ({look.shortcut})" if look.shortcut else look.title
                command.setToolTip(f"{title}\n{problem}" if problem else title)

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
