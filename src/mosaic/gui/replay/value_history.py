"""ValueHistory: the map of a run and what its states were worth over time, read in a thread."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from mosaic.analytics.agents.values import AgentsValuesReader, ValuesRead
from mosaic.contracts.manifest import AgentsArtifact, AnalyticsManifest
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import CorruptStoreError
from mosaic.front.references import may_leave_its_folder
from mosaic.gui.services.async_bridge import AsyncBridge, Task

# A file that grows faster than it is read is read on at the next look.
_MOST_LOOKS = 32


class ValueHistory:
    """Of one run at a time; `found` gets what is known, again whenever somebody looks."""

    def __init__(self, bridge: AsyncBridge, found: Callable[[ValuesRead], None]) -> None:
        self._bridge, self._found = bridge, found
        self._run_id = ""
        self._reader: AgentsValuesReader | None = None
        self._reading: Task | None = None

    def show_run(self, record: RunRecord | None) -> None:
        """None: nobody looks any more."""
        self.stop()
        self._run_id = "" if record is None else record.run_id
        self._reader = None if record is None else _reader_of(record)
        if self._reader is None:
            self._found(ValuesRead())
        self.look()

    def look(self) -> None:
        """Whether there is more of it by now."""
        reader = self._reader
        if reader is None or (self._reading is not None and not self._reading.is_done):
            return
        self._reading = self._bridge.work(lambda: _read(reader), self._found, lambda _: None)

    def stop(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None


def artifact_of(record: RunRecord) -> AgentsArtifact:
    """What the run's manifest names; nothing where it is damaged, which is said elsewhere."""
    try:
        return AnalyticsManifest.from_dict(record.manifest).agents
    except CorruptStoreError:
        return AgentsArtifact()


def _reader_of(record: RunRecord) -> AgentsValuesReader | None:
    artifact, folder = artifact_of(record), record.paths.get("run_directory", "")
    if not artifact.values_path or not folder:
        return None
    try:
        return AgentsValuesReader(Path(folder), artifact, may_leave=may_leave_its_folder(record))
    except CorruptStoreError:
        return None  # it leads out of the run's folder


def _read(reader: AgentsValuesReader) -> ValuesRead:
    for _ in range(_MOST_LOOKS):
        found = reader.read()
        if not found.has_more:
            break
    return found
