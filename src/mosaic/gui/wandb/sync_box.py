"""WandbSyncBox: uploads offline runs with W&B's own program, and shows what it says."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

from PySide6.QtCore import QProcess, QProcessEnvironment, Signal
from PySide6.QtWidgets import QPlainTextEdit, QVBoxLayout, QWidget

from mosaic.analytics.wandb.sync import (
    DEFAULT_SERVER,
    require_key,
    require_network,
    require_wandb,
    without_secrets,
)
from mosaic.errors import MosaicError
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.widgets.roles import label, set_property, with_role

_HEIGHT = 120
_END_MS = 2000


class WandbSyncBox(QWidget):
    changed = Signal()

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self.command: tuple[str, ...] = (sys.executable, "-m", "wandb", "sync")
        self._waiting: list[Path] = []
        self._process: QProcess | None = None
        self._is_checking = False
        self.status = label(role="caption")
        self.status.setWordWrap(True)
        self.output = with_role(QPlainTextEdit(), "code")
        self.output.setReadOnly(True)
        self.output.setMaximumBlockCount(500)
        self.output.setFixedHeight(_HEIGHT)
        self.output.setAccessibleName("What wandb sync says")
        self.output.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.status)
        layout.addWidget(self.output)

    @property
    def is_busy(self) -> bool:
        return self._is_checking or self._process is not None

    def sync(self, folders: tuple[Path, ...]) -> None:
        """One after the other, after a look whether it can work at all."""
        if self.is_busy:
            return
        self._waiting = list(folders)
        self._is_checking = True
        self.output.clear()
        self.output.hide()
        self._say("Looking for the package, a key and the network…")
        self._workbench.bridge.work(_check, self._on_checked, self._on_refused)
        self.changed.emit()

    def clear(self) -> None:
        """Nothing is said about another run."""
        if not self.is_busy:
            self._say("")
            self.output.clear()
            self.output.hide()

    def close_box(self) -> None:
        """Nothing of it outlives the window; an offline run is unharmed by that."""
        process, self._process = self._process, None
        self._waiting.clear()
        if process is not None:
            process.blockSignals(True)
            _kill_group(process)
            process.waitForFinished(_END_MS)
            process.deleteLater()

    def _on_checked(self, _: None) -> None:
        self._is_checking = False
        self._next()

    def _on_refused(self, error: MosaicError) -> None:
        self._is_checking = False
        self._waiting.clear()
        hint = f" {error.hint[:1].upper()}{error.hint[1:]}." if error.hint else ""
        self._say(f"{error.message}.{hint}", "warning")
        self.changed.emit()

    def _next(self) -> None:
        if not self._waiting:
            self._say("Synced.", "good")
            self.changed.emit()
            return
        folder = self._waiting.pop(0)
        process = QProcess(self)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("WANDB_ERROR_REPORTING", "false")
        process.setProcessEnvironment(environment)
        # A group of its own: the helpers that it starts end with it.
        process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
        process.readyReadStandardOutput.connect(self._on_output)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._process = process
        self.output.show()
        self._say(f"Syncing {folder.name}…")
        process.start(self.command[0], [*self.command[1:], str(folder)])

    def _on_output(self) -> None:
        if self._process is not None:
            text = bytes(self._process.readAllStandardOutput().data()).decode(errors="replace")
            self.output.appendPlainText(without_secrets(text, os.environ).rstrip("\n"))

    def _on_finished(self, code: int) -> None:
        self._on_output()
        self._drop()
        if code == 0:
            self._next()
            return
        self._waiting.clear()
        self._say(
            f"wandb sync failed with status {code}; the offline run is unharmed. What it said is "
            "below.",
            "warning",
        )
        self.changed.emit()

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart:
            self._drop()
            self._waiting.clear()
            self._say(f"{self.command[0]} cannot be started.", "warning")
            self.changed.emit()

    def _drop(self) -> None:
        if self._process is not None:
            _kill_group(self._process)
            self._process.deleteLater()
            self._process = None

    def _say(self, text: str, role: str = "caption") -> None:
        self.status.setText(text)
        set_property(self.status, "role", role)


def _check() -> None:
    require_wandb()
    server = os.environ.get("WANDB_BASE_URL") or DEFAULT_SERVER
    require_key(server, os.environ)
    require_network(server, os.environ)


def _kill_group(process: QProcess) -> None:
    leader = process.processId()
    if leader > 0:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
