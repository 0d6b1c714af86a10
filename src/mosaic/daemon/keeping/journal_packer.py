"""Packs the journals of runs that are over, one at a time, in a low-priority thread.

A run that is over gets no further attempt, so nobody writes to its journal any more. Runs that
ended while the daemon was down, and those that a crash or a full disk left unpacked, are found when
the daemon starts.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from mosaic.contracts.run_state import RunState
from mosaic.daemon.keeping.kept_runs import KeptRuns
from mosaic.daemon.registry.reader import RunFilter
from mosaic.errors import StoreError, UnknownRunError
from mosaic.logs import get_logger
from mosaic.telemetry.journal.packing import packed_copy

log = get_logger(__name__)

T = TypeVar("T")

_LOWEST_PRIORITY = 19


class JournalPacker:
    def __init__(self, kept_runs: KeptRuns) -> None:
        self._kept_runs = kept_runs
        self._home = kept_runs.home
        self._registry = kept_runs.registry
        self._ending = threading.Event()
        self._postponed: set[str] = set()
        self._pool = ThreadPoolExecutor(1, "journal packer", initializer=_lower_priority)

    async def serve(self) -> None:
        with self._kept_runs.supervisor.feed.watch() as watcher:
            over, _ = await self._registry.list(RunFilter(states=(RunState.TERM,)))
            for record in over:
                await self._pack(record.run_id)
            async for changed in watcher.changes():
                for run_id in {*changed, *self._postponed}:
                    if await self._is_over(run_id):
                        await self._pack(run_id)

    async def close(self) -> None:
        self._ending.set()
        await asyncio.to_thread(self._pool.shutdown)

    async def _is_over(self, run_id: str) -> bool:
        active = self._kept_runs.supervisor.active.get(run_id)
        if active is not None:  # called at every bit of progress, so it does not touch the disk
            return active.record.is_over
        try:
            return (await self._registry.get(run_id)).is_over
        except UnknownRunError:  # deleted meanwhile
            self._postponed.discard(run_id)
            return False

    async def _pack(self, run_id: str) -> None:
        self._postponed.discard(run_id)
        journal = self._home.run(run_id).journal
        try:
            copy = await self._in_thread(lambda: packed_copy(journal, self._ending.is_set))
            if copy is None:
                return
            try:
                async with self._kept_runs.moving:
                    if run_id in self._kept_runs.archiving:
                        # An archive has listed the files already: it must find them as they were.
                        self._postponed.add(run_id)
                        return
                    await self._in_thread(copy.put_in_place)
            finally:
                await self._in_thread(copy.discard)
        except StoreError as error:
            log.warning("journal.unpacked", run_id=run_id, error=error)
            return
        log.info("journal.packed", run_id=run_id, saved_bytes=copy.saved_bytes)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._pool, work)


def _lower_priority() -> None:
    """Linux counts priority per thread: trainings come first."""
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _LOWEST_PRIORITY)
