"""RunMetrics: which metrics the shown runs have, and how their policies were evaluated."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from functools import partial

from PySide6.QtCore import QObject, Signal

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.history import MetricSeries
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError, UnknownRunError
from mosaic.gui.async_bridge import AsyncBridge, Task
from mosaic.gui.state.chart_evaluations import Lineage, candidates, evaluations_of, lineage_of
from mosaic.gui.state.chart_names import evaluated_return
from mosaic.gui.state.chart_picture import Evaluations
from mosaic.gui.state.runs_state import RunsState

# New names are rare once a run has begun.
_AGAIN_S = 1.0
_EVALUATION_POINTS = 200


class RunMetrics(QObject):
    names_changed = Signal()
    evaluations_changed = Signal()

    def __init__(self, bridge: AsyncBridge, runs: RunsState) -> None:
        super().__init__()
        self._bridge, self._runs = bridge, runs
        self._names: dict[str, tuple[str, ...]] = {}
        self._asked_at: dict[str, float] = {}
        self._asking: Task | None = None
        self._reading: Task | None = None
        self._measuring: Task | None = None
        # What was wanted while a question was open.
        self._ask_next: set[str] = set()
        self._read_next: tuple[str, ...] = ()
        self._measure_next: tuple[str, ...] = ()
        self._lineages: dict[str, Lineage] = {}
        self._own: dict[str, MetricSeries] = {}  # what runs evaluated themselves

    def names(self, run_ids: Iterable[str]) -> list[str]:
        found = {name for run_id in run_ids for name in self._names.get(run_id, ())}
        return sorted(found)

    def is_known(self, run_ids: Iterable[str]) -> bool:
        return all(run_id in self._names for run_id in run_ids)

    def evaluations(self, run_ids: Iterable[str]) -> dict[str, Evaluations]:
        records = {record.run_id: record for record in self._runs.newest_first()}
        found = {}
        for run_id in run_ids:
            parent = records.get(run_id)
            if parent is not None:
                points = evaluations_of(parent, self._lineages, records, self._own.get(run_id))
                if points is not None:
                    found[run_id] = points
        return found

    def refresh(self, run_ids: Iterable[str]) -> None:
        """Asks about runs that are new, or may have more by now."""
        now = time.monotonic()
        due = [run for run in run_ids if now - self._asked_at.get(run, -_AGAIN_S) >= _AGAIN_S]
        if self._asking is not None:
            self._ask_next.update(due)
            return
        if not due:
            return
        for run_id in due:
            self._asked_at[run_id] = now

        async def names(client: AsyncTrainerClient) -> list[tuple[str, tuple[str, ...]]]:
            answers = await asyncio.gather(*(_names_of(client, run_id) for run_id in due))
            return [item for item in answers if item is not None]

        self._asking = self._bridge.ask(names, self._on_names, self._on_failed)

    def look_for_evaluations(self, run_ids: Iterable[str]) -> None:
        if self._reading is not None:
            self._read_next = tuple(run_ids)
            return
        shown = [record for run in run_ids if (record := self._runs.get(run)) is not None]
        unknown = candidates(shown, self._runs.newest_first(), self._lineages)
        if not unknown:
            return

        async def read(client: AsyncTrainerClient) -> list[RunRecord]:
            answers = await asyncio.gather(*(_record_of(client, run_id) for run_id in unknown))
            return [record for record in answers if record is not None]

        self._reading = self._bridge.ask(read, partial(self._on_records, unknown), self._on_failed)

    def measure_evaluations(self, run_ids: Iterable[str]) -> None:
        """Series in which these runs put down evaluations while they trained."""
        if self._measuring is not None:
            self._measure_next = tuple(run_ids)
            return
        wanted = {run: evaluated_return(self._names.get(run, ())) for run in run_ids}
        wanted = {run: name for run, name in wanted.items() if name}
        if not wanted:
            return

        async def measure(client: AsyncTrainerClient) -> list[MetricSeries]:
            names = sorted(set(wanted.values()))
            found = await client.series(list(wanted), names, buckets=_EVALUATION_POINTS)
            return [series for series in found if wanted[series.run_id] == series.name]

        self._measuring = self._bridge.ask(measure, self._on_measured, self._on_failed)

    def stop(self) -> None:
        for task in (self._asking, self._reading, self._measuring):
            if task is not None:
                task.cancel()
        self._asking = self._reading = self._measuring = None
        self._asked_at.clear()
        self._ask_next.clear()
        self._read_next = self._measure_next = ()

    def _on_names(self, found: list[tuple[str, tuple[str, ...]]]) -> None:
        self._asking = None
        self._names |= dict(found)
        waiting, self._ask_next = self._ask_next, set()
        self.refresh(waiting)
        self.names_changed.emit()

    def _on_records(self, asked: list[str], records: list[RunRecord]) -> None:
        self._reading = None
        # Runs that are gone are not asked about again.
        self._lineages |= dict.fromkeys(asked, Lineage())
        self._lineages |= {record.run_id: lineage_of(record) for record in records}
        waiting, self._read_next = self._read_next, ()
        self.look_for_evaluations(waiting)
        self.evaluations_changed.emit()

    def _on_measured(self, found: list[MetricSeries]) -> None:
        self._measuring = None
        self._own |= {series.run_id: series for series in found}
        waiting, self._measure_next = self._measure_next, ()
        self.measure_evaluations(waiting)
        self.evaluations_changed.emit()

    def _on_failed(self, error: MosaicError) -> None:
        """Asked again with the next change; that the daemon is gone is said elsewhere."""
        self.stop()


async def _names_of(client: AsyncTrainerClient, run_id: str) -> tuple[str, tuple[str, ...]] | None:
    try:
        return run_id, tuple(info.name for info in await client.metrics(run_id) if info.points)
    except UnknownRunError:
        return None  # deleted in the meantime


async def _record_of(client: AsyncTrainerClient, run_id: str) -> RunRecord | None:
    try:
        return await client.get_run(run_id)
    except UnknownRunError:
        return None
