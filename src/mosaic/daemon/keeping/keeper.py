"""Keeping: the trash, retention, archives and journals of one home, put together.

At its start it repairs what a daemon left that died in the middle of deleting, restoring or
importing. Where the run's folder is decides: in the bundle, the run counts as deleted (or not
imported); in its own place, it counts as there. Everything else follows the folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from mosaic.contracts.hostile_text import is_run_id
from mosaic.daemon.keeping.archive.bundle import (
    RunBundle,
    config_files,
    move_configs_in,
    put_configs_back,
    remove_tree,
)
from mosaic.daemon.keeping.archives import ArchiveKeeper
from mosaic.daemon.keeping.deletion import TrashKeeper
from mosaic.daemon.keeping.journal_packer import JournalPacker
from mosaic.daemon.keeping.kept_runs import KeptRuns
from mosaic.daemon.keeping.labels import LabelKeeper
from mosaic.daemon.keeping.retention import RetentionKeeper
from mosaic.daemon.keeping.trash import Trash, leftovers
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.runs.supervisor import Supervisor
from mosaic.errors import RunStateError, UnknownRunError
from mosaic.files import read_json
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)

Forget = Callable[[str], Awaitable[None]]


class Keeping:
    def __init__(
        self, home: Home, registry: Registry, supervisor: Supervisor, forget: Callable[[str], None]
    ) -> None:
        self._kept_runs = KeptRuns(home, registry, supervisor)
        self.trash = TrashKeeper(self._kept_runs, forget)
        self.retention = RetentionKeeper(self._kept_runs, self.trash)
        self.labels = LabelKeeper(self._kept_runs)
        self.archives = ArchiveKeeper(self._kept_runs)
        self.journals = JournalPacker(self._kept_runs)

    async def start(self) -> None:
        """Repair what an earlier daemon left half done, before anything is served."""
        kept_runs = self._kept_runs
        await repair_after_crash(kept_runs.home, kept_runs.trash, kept_runs.registry.delete)

    async def close(self) -> None:
        await self.journals.close()
        await self._kept_runs.close()


async def repair_after_crash(home: Home, trash: Trash, forget: Forget) -> None:
    """Before anything else touches the trash; `forget` deletes a run's row."""
    for path in await asyncio.to_thread(leftovers, home):
        await asyncio.to_thread(remove_tree, path)
    for path in sorted(home.trash.iterdir()):
        if not is_run_id(path.name):
            continue
        try:
            if path.is_symlink() or not path.is_dir():
                path.unlink()  # nothing of ours
                continue
            await _repair_trashed(home, trash.bundle(path.name), path.name, forget)
        except (OSError, RunStateError) as error:
            # What cannot be repaired is left for a person; it must not keep the daemon from
            # serving.
            log.error("deletion.unhealed", run_id=path.name, error=str(error))
    for path in sorted(home.transfer.iterdir()):
        try:
            await _repair_import(home, path, forget)
        except (OSError, RunStateError) as error:
            log.error("import.unhealed", path=str(path), error=str(error))


async def _repair_trashed(home: Home, bundle: RunBundle, run_id: str, forget: Forget) -> None:
    is_in_place = _is_in_place(home, run_id)
    if is_in_place and bundle.has_run:
        log.warning("run.doubled", run_id=run_id)  # two runs with one id: neither is touched
    elif is_in_place:
        # Not deleted yet, or restored already.
        await asyncio.to_thread(put_configs_back, bundle, home, run_id)
        await asyncio.to_thread(remove_tree, bundle.directory)
        log.warning("deletion.undone", run_id=run_id)
    elif bundle.has_run or bundle.entry.exists():
        await asyncio.to_thread(move_configs_in, bundle, home, run_id)
        if await _forget_row(run_id, forget):
            log.warning("deletion.finished", run_id=run_id)
    else:
        await asyncio.to_thread(remove_tree, bundle.directory)  # a run that nobody was told of


async def _repair_import(home: Home, path: Path, forget: Forget) -> None:
    bundle = RunBundle(path)
    run_id = _run_of(bundle)
    if run_id and bundle.has_run and not _is_in_place(home, run_id):
        # entry.json is written when the run is about to be put in place.
        await _forget_row(run_id, forget)
        for config in config_files(home, run_id):
            config.unlink()
        log.warning("import.undone", run_id=run_id)
    await asyncio.to_thread(remove_tree, path)


def _is_in_place(home: Home, run_id: str) -> bool:
    return os.path.lexists(home.run(run_id).directory)


def _run_of(bundle: RunBundle) -> str:
    try:
        found = (read_json(bundle.entry) or {})["run"]["run_id"]
    except (OSError, ValueError, TypeError, KeyError):
        return ""
    return found if is_run_id(found) else ""


async def _forget_row(run_id: str, forget: Forget) -> bool:
    try:
        await forget(run_id)
    except UnknownRunError:
        return False
    return True
