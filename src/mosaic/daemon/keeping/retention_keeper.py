"""Pins, and the policy by which runs go to the trash: on demand, or standing and once a day."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from mosaic.contracts.keeping import RetentionPolicy, RetentionResult
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.keeping.custody import Custody
from mosaic.daemon.keeping.lineage import needed_runs
from mosaic.daemon.keeping.parcel import size_of_run
from mosaic.daemon.keeping.retention_plan import KeptRun, check_policy, plan
from mosaic.daemon.keeping.settings import read_settings
from mosaic.daemon.keeping.trash_keeper import TrashKeeper
from mosaic.errors import ConfigError, RunStateError, StoreError, UnknownRunError
from mosaic.logs import get_logger
from mosaic.paths import checked_run_id

log = get_logger(__name__)

ALARM = "retention"
LOOK_EVERY_S = 3600.0
APPLY_EVERY_S = 86_400.0


class RetentionKeeper:
    def __init__(self, custody: Custody, trash: TrashKeeper) -> None:
        self._custody = custody
        self._trash = trash
        self._applied_at: float | None = None

    async def pin(self, run_id: str, pinned: bool) -> RunRecord:
        registry, supervisor = self._custody.registry, self._custody.supervisor
        active = supervisor.active.get(checked_run_id(run_id))
        if active is None:
            await registry.pin(run_id, pinned)
        else:
            async with active.lock:
                revision = await registry.pin(run_id, pinned)
                active.record = replace(active.record, pinned=pinned, revision=revision)
        supervisor.feed.notify(run_id)
        return active.record if active else await registry.get(run_id)

    async def apply(self, policy: RetentionPolicy, dry_run: bool) -> RetentionResult:
        """What goes, or would go; whatever goes can be restored from the trash."""
        check_policy(policy)
        records, _ = await self._custody.registry.list()
        runs = await asyncio.to_thread(self._described, records)
        chosen = plan(policy, runs, time.time())
        if dry_run:
            return chosen
        kept, kept_bytes, deleted = chosen.kept, chosen.kept_bytes, []
        for choice in chosen.deleted:
            try:
                await self._trash.delete(choice.run_id, reason=choice.reason)
            except (RunStateError, UnknownRunError) as error:
                log.warning("retention.skipped", run_id=choice.run_id, error=error)
                kept, kept_bytes = kept + 1, kept_bytes + choice.bytes
            else:
                deleted.append(choice)
        return RetentionResult(tuple(deleted), kept, kept_bytes)

    def _described(self, records: list[RunRecord]) -> list[KeptRun]:
        home = self._custody.home
        needed = needed_runs(home, [record.run_id for record in records])
        return [
            KeptRun(
                run_id=record.run_id,
                run_name=record.run_name,
                worker=record.worker,
                env_id=record.env_id,
                bytes=size_of_run(home, record.run_id),
                is_over=record.is_over,
                pinned=record.pinned,
                is_needed=record.run_id in needed,
                finished_at=record.finished_at or record.updated_at,
                updated_at=record.updated_at,
                mean_return=record.progress.mean_return,
            )
            for record in records
        ]

    async def watch(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(LOOK_EVERY_S)

    async def look(self) -> None:
        """Empty the trash of what is overdue; apply the standing policy when a day has passed."""
        alarms, path = self._custody.supervisor.alarms, self._custody.home.retention_settings
        try:
            settings = await asyncio.to_thread(read_settings, path)
            alarms.pop(ALARM, None)
            await self._trash.empty_overdue(settings.trash_keep_days)
            is_due = self._applied_at is None or time.monotonic() - self._applied_at > APPLY_EVERY_S
            if settings.policy and is_due:
                result = await self.apply(settings.policy, dry_run=False)
                self._applied_at = time.monotonic()
                log.info("retention.applied", deleted=len(result.deleted), kept=result.kept)
        except ConfigError as error:
            # Nothing is deleted by rules that cannot be understood.
            alarms[ALARM] = f"{error} Nothing is cleaned up until it is mended."
        except (StoreError, OSError) as error:
            log.error("keeping.failed", error=str(error))
