"""The client's methods about what is kept: trash, pins, retention, archives."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mosaic.client import keeping_calls as calls
from mosaic.client.archive_file import ArchiveFile
from mosaic.client.calling import Calling, Streaming
from mosaic.contracts.keeping import Deletion, RetentionPolicy, RetentionResult, TrashedRun
from mosaic.contracts.run_record import RunRecord


class KeepingMethods:
    def delete_run(self: Calling, run_id: str, for_good: bool = False) -> Deletion:
        """Move a run that is over to the trash, or delete it at once and wholly."""
        return self._call(calls.delete(run_id, for_good))

    def restore_run(self: Calling, run_id: str) -> RunRecord:
        """Bring a deleted run back, exactly as it was."""
        return self._call(calls.restore(run_id))

    def trash(self: Calling) -> list[TrashedRun]:
        """What can be restored, the last deleted first."""
        return self._call(calls.trash())

    def empty_trash(self: Calling, run_ids: Iterable[str] = ()) -> tuple[int, int]:
        """(bytes freed, runs): these runs for good, or all that are in the trash."""
        return self._call(calls.empty_trash(run_ids))

    def pin_run(self: Calling, run_id: str, pinned: bool = True) -> RunRecord:
        """A pinned run is never chosen by retention."""
        return self._call(calls.pin(run_id, pinned))

    def apply_retention(
        self: Calling, policy: RetentionPolicy, dry_run: bool = True
    ) -> RetentionResult:
        """What the policy would delete; with `dry_run=False` it goes to the trash."""
        return self._call(calls.apply_retention(policy, dry_run))

    def archive_run(self: Streaming, run_id: str, path: Path | str) -> Path:
        """Everything of a run that is over, in one file that appears when it is complete."""
        with ArchiveFile(Path(path)) as file:
            for data in self._stream(calls.ArchiveStream(run_id)):
                file.write(data)
        return file.path

    def import_run(self: Calling, path: Path | str, max_bytes: int = 0) -> RunRecord:
        """A run from an archive of another home, or of this one after it was deleted.

        `max_bytes` is what it may become on disk, if that is more than the daemon expects.
        """
        with calls.opened_archive(Path(path)) as file:
            return self._call(calls.import_run(calls.chunks_of(file, max_bytes)))
