"""What a person gives a run: its name, tags, note and pin."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.keeping.kept_runs import KeptRuns
from mosaic.daemon.registry.rows import LISTED, RunRow, record_of
from mosaic.logs import get_logger
from mosaic.paths import checked_run_id

log = get_logger(__name__)


class LabelKeeper:
    """Possible in every state of a run."""

    def __init__(self, kept_runs: KeptRuns) -> None:
        self._kept_runs = kept_runs

    async def pin(self, run_id: str, pinned: bool) -> RunRecord:
        registry = self._kept_runs.registry
        return await self._mark(run_id, lambda: registry.pin(run_id, pinned))

    async def label(self, run_id: str, change: LabelChange) -> RunRecord:
        registry, wanted = self._kept_runs.registry, change.checked()
        record = await self._mark(run_id, lambda: registry.label(run_id, wanted))
        if wanted.name is not None:
            log.info("run.renamed", run_id=run_id, name=record.run_name)
        return record

    async def _mark(self, run_id: str, write: Callable[[], Awaitable[RunRow]]) -> RunRecord:
        registry, supervisor = self._kept_runs.registry, self._kept_runs.supervisor
        active = supervisor.active.get(checked_run_id(run_id))
        if active is None:
            await write()
        else:
            async with active.lock:
                row = await write()
                stored = record_of([row[name] for name in LISTED])
                active.record = replace(
                    active.record,
                    run_name=stored.run_name,
                    pinned=stored.pinned,
                    tags=stored.tags,
                    note=stored.note,
                    revision=stored.revision,
                )
        supervisor.feed.notify(run_id)
        return active.record if active else await registry.get(run_id)
