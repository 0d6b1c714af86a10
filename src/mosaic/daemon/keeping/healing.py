"""What a daemon that died in the middle of deleting, restoring or importing left, put right.

Where the run's folder is decides: in the parcel, the run counts as deleted (or not imported);
in its own place, it counts as there. Everything else follows the folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from mosaic.contracts.hostile_text import is_run_id
from mosaic.daemon.keeping.parcel import (
    Parcel,
    config_files,
    give_configs,
    remove,
    take_configs,
)
from mosaic.daemon.keeping.trash import Trash, leftovers
from mosaic.errors import RunStateError, UnknownRunError
from mosaic.files import read_json
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)

Forget = Callable[[str], Awaitable[None]]


async def heal(home: Home, trash: Trash, forget: Forget) -> None:
    """Before anything else touches the trash; `forget` deletes a run's row."""
    for path in await asyncio.to_thread(leftovers, home):
        await asyncio.to_thread(remove, path)
    for path in sorted(home.trash.iterdir()):
        if not is_run_id(path.name):
            continue
        try:
            if path.is_symlink() or not path.is_dir():
                path.unlink()  # nothing of ours
                continue
            await _heal_trashed(home, trash.parcel(path.name), path.name, forget)
        except (OSError, RunStateError) as error:
            # What cannot be put right is left for a person; it must not keep a daemon from serving.
            log.error("deletion.unhealed", run_id=path.name, error=str(error))
    for path in sorted(home.transfer.iterdir()):
        try:
            await _heal_import(home, path, forget)
        except (OSError, RunStateError) as error:
            log.error("import.unhealed", path=str(path), error=str(error))


async def _heal_trashed(home: Home, parcel: Parcel, run_id: str, forget: Forget) -> None:
    is_in_place = _is_in_place(home, run_id)
    if is_in_place and parcel.has_run:
        log.warning("run.doubled", run_id=run_id)  # two runs with one id: neither is touched
    elif is_in_place:
        # Not deleted yet, or restored already.
        await asyncio.to_thread(give_configs, parcel, home, run_id)
        await asyncio.to_thread(remove, parcel.directory)
        log.warning("deletion.undone", run_id=run_id)
    elif parcel.has_run or parcel.entry.exists():
        await asyncio.to_thread(take_configs, parcel, home, run_id)
        if await _forgotten(run_id, forget):
            log.warning("deletion.finished", run_id=run_id)
    else:
        await asyncio.to_thread(remove, parcel.directory)  # a run that nobody was told of


async def _heal_import(home: Home, path: Path, forget: Forget) -> None:
    parcel = Parcel(path)
    run_id = _run_of(parcel)
    if run_id and parcel.has_run and not _is_in_place(home, run_id):
        # entry.json is written when the run is about to be put in place.
        await _forgotten(run_id, forget)
        for config in config_files(home, run_id):
            config.unlink()
        log.warning("import.undone", run_id=run_id)
    await asyncio.to_thread(remove, path)


def _is_in_place(home: Home, run_id: str) -> bool:
    return os.path.lexists(home.run(run_id).directory)


def _run_of(parcel: Parcel) -> str:
    try:
        found = (read_json(parcel.entry) or {})["run"]["run_id"]
    except (OSError, ValueError, TypeError, KeyError):
        return ""
    return found if is_run_id(found) else ""


async def _forgotten(run_id: str, forget: Forget) -> bool:
    try:
        await forget(run_id)
    except UnknownRunError:
        return False
    return True
