"""One hostile file: who reads it, how it is made, and what has to become of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

REFUSED, CLEAN = "refused", "clean"


class Case(NamedTuple):
    name: str
    reader: str
    build: Callable[[Path], object]  # gets the folder that is read
    outcome: str = REFUSED
    says: str = ""  # a part of what the reader says


def pipe(name: str) -> Callable[[Path], object]:
    return lambda folder: os.mkfifo(folder / name)


def link(name: str, target: str) -> Callable[[Path], object]:
    return lambda folder: os.symlink(target, folder / name)


def content(name: str, data: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(data)


def sparse(name: str, data: bytes, size: int) -> Callable[[Path], object]:
    """A file that is huge and takes no room."""

    def build(folder: Path) -> None:
        (folder / name).write_bytes(data)
        os.truncate(folder / name, size)

    return build
