"""Three ways to replace a file that look right and are not: the proof has to find each of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.crash_states.proof import Announce
from tests.crash_states.writers import atomic_file

Replace = Callable[[Path, bytes], None]


class CarelessWriter:
    """`atomic_file` with another way to write."""

    prepare = staticmethod(atomic_file.prepare)
    recover = staticmethod(atomic_file.recover)
    complaint = staticmethod(atomic_file.complaint)

    def __init__(self, replace: Replace) -> None:
        self._replace = replace

    def write(self, root: Path, announce: Announce) -> None:
        for version in range(1, atomic_file.VERSIONS + 1):
            announce(f"writing {version}")
            self._replace(root / "file", atomic_file.content(version))
            announce(f"written {version}")


def _in_place(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _without_file_sync(path: Path, data: bytes) -> None:
    temporary = path.with_name("temporary")
    temporary.write_bytes(data)
    temporary.rename(path)
    _sync_folder(path.parent)


def _without_folder_sync(path: Path, data: bytes) -> None:
    temporary = path.with_name("temporary")
    with temporary.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


in_place = CarelessWriter(_in_place)
without_file_sync = CarelessWriter(_without_file_sync)
without_folder_sync = CarelessWriter(_without_folder_sync)
