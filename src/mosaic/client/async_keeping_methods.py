"""The asynchronous client's methods about what is kept: trash, pins, retention, archives."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mosaic.client import keeping_calls as calls
from mosaic.client.archive_file import ArchiveFile
from mosaic.client.calling import AsyncCalling, AsyncStreaming
from mosaic.contracts.keeping import Deletion, RetentionPolicy, RetentionResult, TrashedRun
from mosaic.contracts.run_record import RunRecord


class AsyncKeepingMethods:
    async def delete_run(self: AsyncCalling, run_id: str, for_good: bool = False) -> Deletion:
        """Move a run that is over to the trash, or delete it at once and wholly."""
        return await self._call(calls.delete(run_id, for_good))

    async def restore_run(self: AsyncCalling, run_id: str) -> RunRecord:
        """Bring a deleted run back, exactly as it was."""
        return await self._call(calls.restore(run_id))

    async def trash(self: AsyncCalling) -> list[TrashedRun]:
        """What can be restored, the last deleted first."""
        return await self._call(calls.trash())

    async def empty_trash(self: AsyncCalling, run_ids: Iterable[str] = ()) -> tuple[int, int]:
        """(bytes freed, runs): these runs for good, or all that are in the trash."""
        return await self._call(calls.empty_trash(run_ids))

    async def pin_run(self: AsyncCalling, run_id: str, pinned: bool = True) -> RunRecord:
        """A pinned run is never chosen by retention."""
        return await self._call(calls.pin(run_id, pinned))

    async def apply_retention(
        self: AsyncCalling, policy: RetentionPolicy, dry_run: bool = True
    ) -> RetentionResult:
        """What the policy would delete; with `dry_run=False` it goes to the trash."""
        return await self._call(calls.apply_retention(policy, dry_run))

    async def archive_run(self: AsyncStreaming, run_id: str, path: Path | str) -> Path:
        """Everything of a run that is over, in one file that appears when it is complete."""
        with ArchiveFile(Path(path)) as file:
            async for data in self._stream(calls.ArchiveStream(run_id)):
                file.write(data)
        return file.path

    async def import_run(self: AsyncCalling, path: Path | str, max_bytes: int = 0) -> RunRecord:
        """A run from an archive of another home, or of this one after it was deleted.

        `max_bytes` is what it may become on disk, if that is more than the daemon expects.
        """
        with calls.opened_archive(Path(path)) as file:
            return await self._call(calls.import_run(calls.chunks_of(file, max_bytes)))
