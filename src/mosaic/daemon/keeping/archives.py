"""Archives: runs that leave this home as a file, and files that become runs of this home."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.keeping.archive.bundle import RunBundle, make_durable, remove_tree, size_of_run
from mosaic.daemon.keeping.archive.importing import (
    IncomingFile,
    has_same_content,
    imported_files,
    unpack,
)
from mosaic.daemon.keeping.archive.reader import ArchiveIndex, RunArchive
from mosaic.daemon.keeping.archive.writer import ArchiveStream
from mosaic.daemon.keeping.kept_runs import KeptRuns, disk_errors
from mosaic.errors import ConfigError, RunStateError, UnknownRunError
from mosaic.files import atomic_write_json
from mosaic.logs import get_logger

log = get_logger(__name__)


class ArchivePiece(NamedTuple):
    """A part of an archive being received; the first part describes the whole."""

    data: bytes
    total_bytes: int = 0
    # What the run may become on disk; 0: what is usual.
    max_unpacked_bytes: int = 0


class ArchiveKeeper:
    def __init__(self, kept_runs: KeptRuns) -> None:
        self._kept_runs = kept_runs
        self._home = kept_runs.home
        # One archive at a time, so that the memory for checking is needed only once.
        self._unpacking = asyncio.Lock()

    async def archive(self, run_id: str) -> AsyncIterator[tuple[bytes, int]]:
        """Pieces of the archive, each with the size of the run's files before compression."""
        async with self._kept_runs.moving:
            await self._kept_runs.require_over(run_id, "archived")
            self._kept_runs.archiving.append(run_id)
        try:
            entry = await self._kept_runs.registry.entry(run_id)
            size = await asyncio.to_thread(size_of_run, self._home, run_id)
            stream = ArchiveStream(self._home, entry, time.time())
            try:
                while (piece := await asyncio.to_thread(stream.next)) is not None:
                    yield piece, size
            finally:
                await self._kept_runs.uninterrupted.do(asyncio.to_thread(stream.close))
        finally:
            self._kept_runs.archiving.remove(run_id)
        log.info("run.archived", run_id=run_id, bytes=size)

    async def import_run(self, pieces: AsyncIterator[ArchivePiece]) -> tuple[RunRecord, int, int]:
        """(record, files, bytes) of the run that the archive held."""
        incoming: IncomingFile | None = None
        max_bytes = 0
        try:
            async for piece in pieces:
                if incoming is None:
                    with disk_errors("The archive cannot be stored"):
                        incoming = IncomingFile(self._home, piece.total_bytes)
                    max_bytes = piece.max_unpacked_bytes
                await asyncio.to_thread(incoming.add, piece.data)
        except BaseException:
            if incoming is not None:
                incoming.close()
            raise
        if incoming is None:
            raise ConfigError("No archive was sent", hint="give a file", field="data")
        return await self._kept_runs.uninterrupted.do(self._import(incoming, max_bytes))

    async def _import(self, incoming: IncomingFile, max_bytes: int) -> tuple[RunRecord, int, int]:
        bundle = RunBundle(Path(f"{incoming.path}.parcel"))
        should_stop = self._kept_runs.is_ending.is_set
        try:
            async with self._unpacking:
                with contextlib.closing(incoming.complete()) as file:
                    archive = await asyncio.to_thread(RunArchive, file)
                    index = archive.index
                    await self._refuse_known(index)
                    with disk_errors("The archive cannot be unpacked"):
                        entry = await asyncio.to_thread(
                            unpack,
                            *(archive, bundle, self._home, time.time(), max_bytes, should_stop),
                        )
                        await asyncio.to_thread(make_durable, bundle)
            async with self._kept_runs.moving:
                await self._refuse_known(index)  # another import may have been faster
                with disk_errors("The archive cannot be unpacked"):
                    await asyncio.to_thread(atomic_write_json, bundle.entry, entry.to_dict())
                record = await self._kept_runs.put_in_place(bundle, entry)
        finally:
            incoming.close()
            await asyncio.to_thread(remove_tree, bundle.directory)
        files = imported_files(index)
        size = sum(item.size for item in files)
        log.info("run.imported", run_id=index.run_id, files=len(files), bytes=size)
        return record, len(files), size

    async def _refuse_known(self, index: ArchiveIndex) -> None:
        run_id = index.run_id
        directory = self._home.run(run_id).directory
        if self._kept_runs.trash.bundle(run_id).directory.exists():
            raise RunStateError(
                f"The run {run_id} is in the trash",
                hint=f"bring it back with `mosaic restore {run_id}`, or "
                f"`mosaic trash --empty {run_id}` first",
            )
        if reason := self._kept_runs.registry.set_aside.get(run_id):
            raise RunStateError(
                f"The run {run_id} is here already, set aside because {reason}",
                hint=f"`mosaic delete --for-good {run_id}` removes it; then import again",
            )
        try:
            await self._kept_runs.registry.get(run_id)
        except UnknownRunError:
            if not directory.exists():
                return
        if await asyncio.to_thread(has_same_content, directory, index):
            raise RunStateError(
                f"The run {run_id} is already here, with the same content",
                hint=f"see `mosaic show {run_id}`",
            )
        raise RunStateError(
            f"There is already a run {run_id} here, and its files differ from the archive's",
            hint=f"look at it with `mosaic show {run_id}`; delete it before you import the other",
        )
