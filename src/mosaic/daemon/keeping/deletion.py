"""Deleting, restoring, and emptying the trash."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable

from mosaic.contracts.keeping import Deletion, TrashedRun
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.keeping.archive.bundle import RunBundle, put_all_back, size_of_run
from mosaic.daemon.keeping.kept_runs import KeptRuns, disk_errors
from mosaic.daemon.keeping.trash import discard
from mosaic.errors import RunStateError, StoreError, UnknownRunError
from mosaic.logs import get_logger
from mosaic.paths import checked_run_id

log = get_logger(__name__)

USER = "user"


class TrashKeeper:
    def __init__(self, kept_runs: KeptRuns, forget: Callable[[str], None]) -> None:
        self._kept_runs = kept_runs
        self._home = kept_runs.home
        self._trash = kept_runs.trash
        # Called for every run that is removed.
        self._forget = forget

    async def delete(self, run_id: str, for_good: bool = False, reason: str = USER) -> Deletion:
        return await self._kept_runs.uninterrupted.do(
            self._delete(checked_run_id(run_id), for_good, reason)
        )

    async def _delete(self, run_id: str, for_good: bool, reason: str) -> Deletion:
        registry = self._kept_runs.registry
        async with self._kept_runs.moving:
            if run_id in registry.set_aside:
                return await self._delete_set_aside(run_id, for_good)
            await self._kept_runs.require_over(run_id, "deleted")
            if run_id in self._kept_runs.archiving:
                raise RunStateError("The run is being archived", hint="delete it afterwards")
            entry = await registry.entry(run_id)
            size = await asyncio.to_thread(size_of_run, self._home, run_id)
            try:
                bundle = await asyncio.to_thread(self._trash.take, entry, reason, size, time.time())
            except OSError as error:
                if not for_good:
                    raise StoreError(
                        f"The run cannot be moved to the trash: {error.strerror}",
                        hint=f"`mosaic delete --for-good {run_id}` needs no space",
                    ) from error
                # A full disk has no room even for a note; what is deleted now makes some.
                await asyncio.to_thread(discard, self._home, run_id)
                await registry.delete(run_id)
            else:
                await self._forget_trashed(bundle, run_id)
                if for_good:
                    size = await asyncio.to_thread(self._trash.empty, run_id)
            self._forget(run_id)
            self._kept_runs.supervisor.feed.notify(run_id)
        log.info("run.deleted", run_id=run_id, bytes=size, reason=reason, for_good=for_good)
        return Deletion(size, is_in_trash=not for_good)

    async def _delete_set_aside(self, run_id: str, for_good: bool) -> Deletion:
        """Nothing could bring it back from the trash, so it goes for good or not at all."""
        registry = self._kept_runs.registry
        if not for_good:
            raise RunStateError(
                f"The run is set aside ({registry.set_aside[run_id]}) and could not be restored",
                hint=f"`mosaic delete --for-good {run_id}` removes its files",
            )
        size = await asyncio.to_thread(size_of_run, self._home, run_id)
        with contextlib.suppress(UnknownRunError):  # most have no row any more
            await registry.delete(run_id)
        with disk_errors("The run cannot be deleted"):
            await asyncio.to_thread(discard, self._home, run_id)
        registry.forget_set_aside(run_id)
        log.info("run.deleted", run_id=run_id, bytes=size, reason=USER, for_good=True)
        return Deletion(size, is_in_trash=False)

    async def _forget_trashed(self, bundle: RunBundle, run_id: str) -> None:
        try:
            await self._kept_runs.registry.delete(run_id)
        except StoreError:
            await asyncio.to_thread(put_all_back, bundle, self._home, run_id)
            raise

    async def restore(self, run_id: str) -> RunRecord:
        return await self._kept_runs.uninterrupted.do(self._restore(checked_run_id(run_id)))

    async def _restore(self, run_id: str) -> RunRecord:
        async with self._kept_runs.moving:
            bundle = self._trash.found(run_id)
            entry = await asyncio.to_thread(self._trash.entry, run_id)
            record = await self._kept_runs.put_in_place(bundle, entry)
        log.info("run.restored", run_id=run_id)
        return record

    async def runs(self) -> list[TrashedRun]:
        return await asyncio.to_thread(self._trash.runs)

    async def empty(self, run_ids: Iterable[str] = ()) -> tuple[int, int]:
        """(bytes freed, runs); no ids mean everything."""
        return await self._kept_runs.uninterrupted.do(self._empty(tuple(dict.fromkeys(run_ids))))

    async def _empty(self, run_ids: tuple[str, ...]) -> tuple[int, int]:
        freed = 0
        async with self._kept_runs.moving:
            for run_id in run_ids:
                self._trash.found(run_id)  # all or none
            chosen = run_ids or tuple(run.run_id for run in await self.runs())
            with disk_errors("The trash cannot be emptied"):
                for run_id in chosen:
                    freed += await asyncio.to_thread(self._trash.empty, run_id)
        log.info("trash.emptied", runs=len(chosen), freed_bytes=freed)
        return freed, len(chosen)

    async def empty_overdue(self, keep_days: float) -> None:
        overdue = await asyncio.to_thread(self._trash.overdue, keep_days)
        if overdue:
            await self.empty(overdue)
