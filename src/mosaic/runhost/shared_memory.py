"""Unlinks the shared memory a run leaves behind."""

from __future__ import annotations

import os
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
            if path.lstat().st_uid == os.getuid():
                path.unlink()
                removed.append(name)
        except OSError:
            continue
    return tuple(removed)
