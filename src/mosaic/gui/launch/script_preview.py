"""ScriptPreview: exactly what would run, before somebody starts it."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QHideEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.async_bridge import Task
from mosaic.gui.state.launch_errors import error_sentence
from mosaic.gui.state.launch_form import LaunchForm
from mosaic.gui.state.launch_script import ScriptForm
from mosaic.gui.widgets.roles import label, set_property, with_role
from mosaic.gui.workbench import Workbench

# Programs and folders are looked up when somebody stops typing.
_PAUSE_MS = 250


class ScriptPreview(QWidget):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "card")
        self.setObjectName("script-preview")
        self._workbench = workbench
        self._form: ScriptForm | None = None
        self._reading: Task | None = None
        self._text = label(role="code")
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(10, 8, 10, 8)
        layout.setSpacing(4)
        layout.addWidget(label("This will run", "caption"))
        layout.addWidget(self._text)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._read)
        self.hide()

    @property
    def text(self) -> str:
        return self._text.text()

    def show_form(self, form: LaunchForm | None, is_ready: bool) -> None:
        self._form = form if isinstance(form, ScriptForm) and is_ready else None
        if self._form is None:
            self._stop()
            self.hide()
        else:
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._stop()

    def _read(self) -> None:
        if self._form is not None:
            self._reading = self._workbench.bridge.work(
                self._form.preview(), self._on_read, self._on_failed
            )

    def _on_read(self, lines: list[str]) -> None:
        self._show("\n".join(lines), "code")

    def _on_failed(self, error: MosaicError) -> None:
        self._show(error_sentence(error), "error")

    def _show(self, text: str, role: str) -> None:
        set_property(self._text, "role", role)
        self._text.setText(text)
        self.show()

    def _stop(self) -> None:
        self._timer.stop()
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
