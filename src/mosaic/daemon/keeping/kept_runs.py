"""What all actions on kept runs share: each is completed, and moves happen one at a time."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator

from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.keeping.archive.bundle import (
    RunBundle,
    move_configs_in,
    put_configs_back,
    put_run_back,
    remove_tree,
)
from mosaic.daemon.keeping.trash import Trash
from mosaic.daemon.registry.documents import RunEntry
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.runs.background_tasks import Uninterrupted
from mosaic.daemon.runs.supervisor import Supervisor
from mosaic.errors import MosaicError, RunStateError, StoreError
from mosaic.paths import Home, checked_run_id


class KeptRuns:
    def __init__(self, home: Home, registry: Registry, supervisor: Supervisor) -> None:
        self.home = home
        self.registry = registry
        self.supervisor = supervisor
        self.trash = Trash(home)
        # Held by whoever moves a run in or out.
        self.moving = asyncio.Lock()
        # Runs that are being read for an archive, as often as they are.
        self.archiving: list[str] = []
        # Set when the daemon stops: work on a long file is abandoned.
        self.is_ending = threading.Event()
        self.uninterrupted = Uninterrupted()

    async def close(self) -> None:
        self.is_ending.set()
        await self.uninterrupted.close()

    async def require_over(self, run_id: str, verb: str) -> RunRecord:
        record = await self.registry.get(checked_run_id(run_id))
        if not record.is_over:
            raise RunStateError(
                f"The run is not over and cannot be {verb}",
                hint=f"stop it first: mosaic stop {run_id}",
            )
        return record

    async def put_in_place(self, bundle: RunBundle, entry: RunEntry) -> RunRecord:
        """From a bundle to a run: configs, row, and last the folder, which decides."""
        run_id = entry.run_id
        is_known = False
        try:
            with disk_errors("The run cannot be put in place"):
                if not bundle.has_run:
                    bundle.run.mkdir(mode=0o700)  # its folder had been missing already
                await asyncio.to_thread(put_configs_back, bundle, self.home, run_id)
                await self.registry.put_back(entry)
                is_known = True
                await asyncio.to_thread(put_run_back, bundle, self.home, run_id)
        except MosaicError:
            if is_known:
                await self.registry.delete(run_id)
            await asyncio.to_thread(move_configs_in, bundle, self.home, run_id)
            raise
        await asyncio.to_thread(remove_tree, bundle.directory)
        self.supervisor.feed.notify(run_id)
        return await self.registry.get(run_id)


@contextlib.contextmanager
def disk_errors(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{what}: {error.strerror or error}",
            hint="check the free space and the rights of the home directory",
        ) from error
