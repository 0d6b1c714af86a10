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
    try:
        shared = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ()
    try:
        names = [name for name in os.listdir(shared) if name.startswith(wanted)]  # noqa: PTH208
        return tuple(name for name in names if _unlink_own(name, shared))
    finally:
        os.close(shared)


def _unlink_own(name: str, shared: int) -> bool:
    """A link is removed, not its target; what belongs to others is left to them."""
    try:
        about = os.stat(name, dir_fd=shared, follow_symlinks=False)
        if about.st_uid != os.geteuid():
            return False
        if stat.S_ISDIR(about.st_mode):
            _remove_folder(name, shared)
        else:
            os.unlink(name, dir_fd=shared)
    except OSError:
        return False
    return True


def _remove_folder(name: str, shared: int) -> None:
    # Imported here: hardly any run leaves one, and every run host would pay for it.
    import shutil

    shutil.rmtree(name, dir_fd=shared)
