"""The trash: runs that were deleted, whole, until they are restored or their time is up."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.keeping import TrashedRun
from mosaic.contracts.run_files import RunFiles
from mosaic.daemon.keeping.archive.bundle import (
    RunBundle,
    config_files,
    move_in,
    put_all_back,
    remove_tree,
    size_below,
)
from mosaic.daemon.registry.documents import RunEntry, read_run_file
from mosaic.daemon.registry.rows import COUNT, TIME, storable_text
from mosaic.errors import CorruptStoreError, RunStateError, UnknownRunError
from mosaic.files import MOST_JSON_BYTES, atomic_write_json, read_json, sync_directory
from mosaic.foreign.files import read_regular
from mosaic.logs import get_logger
from mosaic.paths import Home, checked_run_id

log = get_logger(__name__)

# Prefix of what is being removed; it can no longer be restored.
GONE = ".gone-"
MAX_NOTE = 1_000


@dataclass(frozen=True)
class Trash:
    home: Home

    def bundle(self, run_id: str) -> RunBundle:
        return RunBundle(self.home.trash / checked_run_id(run_id))

    def found(self, run_id: str) -> RunBundle:
        bundle = self.bundle(run_id)
        if bundle.directory.is_symlink() or not bundle.directory.is_dir():
            raise UnknownRunError(
                f"There is no run {run_id} in the trash", hint="`mosaic trash` lists what is there"
            )
        return bundle

    def take(self, entry: RunEntry, reason: str, size: int, now: float) -> RunBundle:
        """Move a run in; the registry still knows it afterwards."""
        bundle = self.bundle(entry.run_id)
        if bundle.directory.is_symlink():
            remove_tree(bundle.directory)
        try:
            bundle.create()
        except FileExistsError as error:
            raise RunStateError(
                f"There is another run {entry.run_id} in the trash",
                hint=f"empty it first: mosaic trash --empty {entry.run_id}",
            ) from error
        try:
            notes = {"deleted_at": now, "reason": reason, "bytes": size}
            atomic_write_json(bundle.entry, {**entry.to_dict(), **notes})
            move_in(bundle, self.home, entry.run_id)
        except BaseException:
            put_all_back(bundle, self.home, entry.run_id)
            raise
        return bundle

    def entry(self, run_id: str) -> RunEntry:
        """What the registry knew; raises CorruptStoreError when that is lost."""
        bundle = self.found(run_id)
        try:
            entry = RunEntry.from_json(read_regular(bundle.entry, MOST_JSON_BYTES))
            if entry.run_id != run_id:
                raise CorruptStoreError(f"{bundle.entry} is about another run")
        except (OSError, ValueError, CorruptStoreError) as error:
            # run.json says it too, without the history.
            try:
                return RunEntry(read_run_file(RunFiles(bundle.run), run_id), (), {})
            except CorruptStoreError:
                raise CorruptStoreError(
                    f"{bundle.entry} cannot be read: {error}",
                    hint=f"the run's files are in {bundle.run}",
                ) from error
        return entry

    def runs(self) -> list[TrashedRun]:
        """What is there, the last deleted first."""
        found = [
            self._described(path.name)
            for path in self.home.trash.iterdir()
            if is_run_id(path.name) and path.is_dir() and not path.is_symlink()
        ]
        return sorted(found, key=lambda run: (-run.deleted_at, run.run_id))

    def _described(self, run_id: str) -> TrashedRun:
        bundle = self.bundle(run_id)
        notes = self._notes(bundle)
        run = notes.get("run")
        name = run.get("run_name") if isinstance(run, dict) else None
        deleted_at: Any = notes.get("deleted_at")
        size: Any = notes.get("bytes")
        if TIME.problem(deleted_at):
            deleted_at = bundle.directory.stat().st_mtime
        if COUNT.problem(size):
            size = size_below(bundle.directory)
        reason = storable_text(str(notes.get("reason", "unknown")))[:MAX_NOTE]
        shown_name = storable_text(str(name or run_id))[:MAX_NOTE]
        return TrashedRun(run_id, shown_name, deleted_at, size, reason)

    @staticmethod
    def _notes(bundle: RunBundle) -> dict[str, Any]:
        try:
            notes = read_json(bundle.entry)
        except (OSError, ValueError):
            return {}
        return notes if isinstance(notes, dict) else {}

    def empty(self, run_id: str) -> int:
        """Delete a trashed run for good; returns the bytes freed."""
        bundle = self.found(run_id)
        size = size_below(bundle.directory)
        # Half a run must not look like one that can be restored.
        doomed = self.home.trash / f"{GONE}{run_id}-{os.urandom(4).hex()}"
        bundle.directory.rename(doomed)
        sync_directory(self.home.trash)
        remove_tree(doomed)
        return size

    def overdue(self, keep_days: float, now: float | None = None) -> list[str]:
        moment = time.time() if now is None else now
        limit = keep_days * 86_400
        return [run.run_id for run in self.runs() if moment - run.deleted_at > limit]


def discard(home: Home, run_id: str) -> None:
    """The files of a run go at once and for good, without needing any space."""
    source = home.run(run_id).directory
    doomed = home.trash / f"{GONE}{run_id}-{os.urandom(4).hex()}"
    if os.path.lexists(source):
        source.rename(doomed)
        sync_directory(home.trash)  # or a power cut would bring it back
        remove_tree(doomed)
    for path in config_files(home, run_id):
        path.unlink(missing_ok=True)
    sync_directory(home.configs)


def leftovers(home: Home) -> list[Path]:
    """What was being removed when a daemon died."""
    return [path for path in home.trash.iterdir() if path.name.startswith(GONE)]
