"""Launcher: starts, checks and remembers what the open form describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal

from mosaic.errors import MosaicError
from mosaic.gui.launch.model.launch_form import Document, LaunchForm
from mosaic.gui.launch.model.saved_values import LastTraining, LaunchMemory, PresetFile, Presets
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.state.targets import Operation
from mosaic.wire.answers import Submission


class Launcher(QObject):
    busy_changed = Signal(bool)
    started = Signal()
    failed = Signal(object)  # MosaicError
    checked = Signal(object)  # Submission of a dry run
    presets_changed = Signal(str)  # operation

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._memory = LaunchMemory(workbench.home)
        self._presets: dict[Operation, Presets] = {}
        self.is_busy = False
        self._checking: Task | None = None

    # Starting

    def launch(self, form: LaunchForm, most_install_bytes: int | None = None) -> None:
        """With `most_install_bytes`, what it lacks is installed first."""
        if self.is_busy:
            return
        self._set_busy(True)
        is_training = form.operation is Operation.TRAIN
        self._prepare(
            form, lambda documents: self._submit(documents, is_training, most_install_bytes)
        )

    def train_again(self) -> None:
        """What was trained last, without the form."""
        if self.is_busy:
            return
        self._set_busy(True)
        self._workbench.bridge.work(self._memory.recall, self._on_recalled, self._on_recall_failed)

    def dry_run(self, form: LaunchForm) -> None:
        """Of several runs the first stands for all."""
        if self.is_busy:
            return
        self._set_busy(True)
        self._prepare(form, self._check)

    def _prepare(self, form: LaunchForm, done: Callable[[list[Document]], None]) -> None:
        try:
            prepared = form.prepare()
        except MosaicError as error:
            self._fail(error)
            return
        self._workbench.bridge.work(prepared, done, self._fail)

    def _submit(
        self, documents: list[Document], is_training: bool, most_install_bytes: int | None = None
    ) -> None:
        def done(_: list[Submission]) -> None:
            if is_training:
                self._memory.remember(documents)
                self._workbench.bridge.work(self._memory.save)
            self._set_busy(False)
            self.started.emit()

        self._workbench.run_actions.submit(
            documents, done, self._fail, most_install_bytes=most_install_bytes
        )

    def _check(self, documents: list[Document]) -> None:
        document = documents[0]
        self._checking = self._workbench.bridge.ask(
            lambda client: client.submit(document, dry_run=True), self._on_checked, self._fail
        )

    def _on_checked(self, submission: Submission) -> None:
        self._set_busy(False)
        self.checked.emit(submission)

    def _on_recalled(self, last: LastTraining | None) -> None:
        state = self._workbench.state
        if last is None:
            self._set_busy(False)
            state.say(Notice("Nothing was trained here yet: fill in the form first"))
            return
        if last.left_out:
            names = ", ".join(last.left_out)
            state.say(Notice(f"{names} was kept nowhere: this run starts without it"))
        self._submit([dict(document) for document in last.documents], is_training=True)

    def _on_recall_failed(self, error: MosaicError) -> None:
        self._fail(error)

    def _fail(self, error: MosaicError) -> None:
        self._set_busy(False)
        self.failed.emit(error)

    def _set_busy(self, is_busy: bool) -> None:
        if is_busy != self.is_busy:
            self.is_busy = is_busy
            self.busy_changed.emit(is_busy)

    # Presets

    def presets(self, form: LaunchForm) -> dict[str, dict[str, Any]]:
        """Those of this worker, as far as they have been read."""
        found = self._presets.get(form.operation, {})
        return {
            name: values
            for name, values in found.items()
            if values.get("worker", form.worker) == form.worker
        }

    def read_presets(self, operation: Operation) -> None:
        if operation not in self._presets:
            self._presets[operation] = {}
            file = PresetFile(self._workbench.home, operation)
            self._keep_presets(operation, file.read)

    def save_preset(self, form: LaunchForm, name: str) -> None:
        values = {"worker": form.worker, **form.preset_values()}
        file = PresetFile(self._workbench.home, form.operation)
        self._keep_presets(
            form.operation, lambda: file.save(name, values), Notice(f"Preset {name} saved")
        )

    def delete_preset(self, form: LaunchForm, name: str) -> None:
        operation = form.operation
        values = self._presets.get(operation, {}).get(name, {})
        file = PresetFile(self._workbench.home, operation)
        undo = Notice(
            f"Preset {name} deleted",
            action=lambda: self._keep_presets(operation, lambda: file.save(name, values)),
            action_text="Undo",
            seconds=10.0,
        )
        self._keep_presets(operation, lambda: file.delete(name), undo)

    def _keep_presets(
        self, operation: Operation, function: Callable[[], Presets], said: Notice | None = None
    ) -> None:
        def done(found: Presets) -> None:
            self._presets[operation] = found
            self.presets_changed.emit(operation.value)
            if said is not None:
                self._workbench.state.say(said)

        def failed(error: MosaicError) -> None:
            text = f"{error.message}. {error.hint[:1].upper()}{error.hint[1:]}"
            self._workbench.state.say(Notice(text, Severity.BAD, seconds=0))

        self._workbench.bridge.work(function, done, failed)
