"""Unlinks the shared memory a run leaves behind."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")


def unlink_shared_memory(prefixes: Iterable[str], folder: Path = SHARED_MEMORY) -> tuple[str, ...]:
    """Remove our own segments whose names start with a prefix; returns the names."""
    # An empty prefix would match the segments of every program on the machine.
    wanted = tuple(prefix for prefix in prefixes if prefix)
    removed: list[str] = []
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(wanted)]
    except OSError:
        return ()
    for name in names:
        path = folder / name
        try:
            about = path.lstat()
            if about.st_uid != os.getuid():
                continue
            if stat.S_ISDIR(about.st_mode):
                _remove_folder(path)
            else:
                path.unlink()
            removed.append(name)
        except OSError:
            continue
    return tuple(removed)


def _remove_folder(path: Path) -> None:
    # Imported here: hardly any run leaves one, and every run host would pay for it.
    import shutil

    shutil.rmtree(path)
