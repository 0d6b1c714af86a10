"""SourceReading: looks for the algorithms of the place that the form of a training names."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from mosaic.front.catalogue import source_algorithms
from mosaic.gui.launch.model.algorithm_source import AlgorithmSource
from mosaic.gui.launch.model.field_lookup import error_sentence
from mosaic.gui.launch.model.launch_state import LaunchState
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench

# Read when somebody stops typing.
_PAUSE_MS = 250


class SourceReading(QObject):
    def __init__(self, workbench: Workbench, launch: LaunchState, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench, self._launch = workbench, launch
        self._task: Task | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._read)

    def look(self) -> None:
        """Something was entered or chosen."""
        self.stop()
        if self._wanted is not None:
            self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        if self._task is not None:
            self._task.cancel()
            self._task = None

    @property
    def _wanted(self) -> tuple[TrainForm, AlgorithmSource] | None:
        form = self._launch.form
        source = form.unread_source if isinstance(form, TrainForm) else None
        return (form, source) if isinstance(form, TrainForm) and source is not None else None

    def _read(self) -> None:
        if self._wanted is None:
            return
        form, source = self._wanted
        self._task = self._workbench.bridge.work(
            lambda: source_algorithms(*source),
            lambda found: form.show_source(source, found),
            lambda error: form.show_source(source, [], error_sentence(error)),
        )
