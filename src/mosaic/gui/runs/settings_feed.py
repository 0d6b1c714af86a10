"""SettingsFeed: reads what runs were configured with, a few hundred at a time."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from mosaic.contracts.run_settings import Setting
from mosaic.errors import MosaicError
from mosaic.gui.runs.table_model import RunsTableModel
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.workbench_state import Connection

_PAGE = 500
_PAUSE_MS = 50
_AGAIN_MS = 5000


class SettingsFeed(QObject):
    def __init__(self, workbench: Workbench, model: RunsTableModel, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench, self._model = workbench, model
        self._wanted: dict[str, None] = {}
        self._asking: Task | None = None
        self._is_awake = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._ask)
        state = workbench.state
        state.runs.changed.connect(self._on_changed)
        state.connection_changed.connect(self._on_connection)
        state.catalogue_changed.connect(self._on_catalogue)
        self._on_catalogue()
        self._on_changed(frozenset(record.run_id for record in state.runs.newest_first()))

    def start(self) -> None:
        self._is_awake = True
        if self._wanted:
            self._wake()

    def stop(self) -> None:
        """Not visible: nothing is read until `start`."""
        self._is_awake = False
        self._timer.stop()
        if self._asking is not None:
            self._asking.cancel()
            self._asking = None

    def _on_changed(self, run_ids: frozenset[str]) -> None:
        settings = self._model.settings
        new = sorted((run for run in run_ids if run not in settings), reverse=True)
        if new:
            self._wanted.update(dict.fromkeys(new))
            self._wake()

    def _on_connection(self, _: str) -> None:
        if self._wanted:
            self._wake()

    def _on_catalogue(self) -> None:
        self._model.settings.set_defaults(self._workbench.state.algorithms)
        if self._model.choice.settings:
            self._model.take_settings(())

    def _wake(self, after_ms: int = _PAUSE_MS) -> None:
        if self._is_awake and self._asking is None and not self._timer.isActive():
            self._timer.start(after_ms)

    def _ask(self) -> None:
        if self._workbench.state.connection is not Connection.ONLINE or not self._wanted:
            return
        page = list(self._wanted)[:_PAGE]
        self._asking = self._workbench.bridge.ask(
            lambda client: client.settings(page), self._on_settings, self._on_failed
        )

    def _on_settings(self, found: dict[str, dict[str, Setting]]) -> None:
        self._asking = None
        for run_id in found:
            self._wanted.pop(run_id, None)
        self._model.settings.add(found)
        self._model.take_settings(found)
        if self._wanted and found:
            self._wake()

    def _on_failed(self, _: MosaicError) -> None:
        """An older daemon does not know them; whoever has lost it asks again later."""
        self._asking = None
        self._wake(_AGAIN_MS)
