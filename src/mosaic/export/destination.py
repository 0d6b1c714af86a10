"""The folder of an export: written under a temporary name, there as a whole or not at all.

A folder that exists is replaced only on request, and only when it is an earlier export: it says so
itself, in its `export.json`. A typo must not cost anybody a folder of other things.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mosaic.errors import DiskSpaceError, MosaicError, RequestError
from mosaic.files import atomic_write_json, sync_directory

MARKER = "export.json"
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT}
_MAX_NAME_BYTES = 150


def folder_name(run_name: str) -> str:
    """A run's name as a file name: nothing in it that troubles a shell or a file system."""
    text = re.sub(r"[^\w.+=@-]+", "_", run_name).lstrip("-.")
    return text.encode()[:_MAX_NAME_BYTES].decode(errors="ignore") or "run"


class Destination:
    """What an export is written into. `about` becomes its export.json."""

    def __init__(self, folder: Path, about: dict[str, Any]) -> None:
        self.folder = folder
        self.about = about


@contextlib.contextmanager
def new_export(target: Path, about: dict[str, Any], force: bool = False) -> Iterator[Destination]:
    """A temporary folder that becomes `target` when nothing goes wrong, and vanishes otherwise."""
    target = target.expanduser().absolute()
    _check_target(target, force)
    with _as_sentences(target):
        made = _make_parents(target.parent)
        temporary = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        try:
            temporary.mkdir()
            destination = Destination(temporary, dict(about))
            yield destination
            atomic_write_json(temporary / MARKER, destination.about, mode=0o644)
            _sync_files(temporary)
            _put_in_place(temporary, target, force)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise


def _check_target(target: Path, force: bool) -> None:
    with _as_sentences(target):
        if not os.path.lexists(target):
            return
        if target.is_symlink() or not target.is_dir():
            raise RequestError(f"{target} exists and is not a folder", hint="name another one")
        if not any(target.iterdir()):
            return
        if not force:
            raise RequestError(
                f"{target} exists already",
                hint="name another folder, or have it replaced (--force)",
            )
        if not (target / MARKER).is_file():
            raise RequestError(
                f"{target} holds other things than an export, so it is not replaced",
                hint="name another folder, or remove this one yourself",
            )


def _make_parents(parent: Path) -> list[Path]:
    """The folders that had to be made, innermost first."""
    missing = [folder for folder in (parent, *parent.parents) if not os.path.lexists(folder)]
    existing = missing[-1].parent if missing else parent
    if not existing.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, f"{existing} is not a folder")
    parent.mkdir(parents=True, exist_ok=True)
    return missing


def _put_in_place(temporary: Path, target: Path, force: bool) -> None:
    before = None
    if force and target.is_dir() and any(target.iterdir()):
        before = temporary.with_suffix(".old")
        target.rename(before)
    try:
        temporary.rename(target)
    except OSError as error:
        if before is not None:
            before.rename(target)
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise RequestError(f"Somebody else made {target} meanwhile") from error
        raise
    sync_directory(target.parent)
    if before is not None:
        shutil.rmtree(before, ignore_errors=True)


def _sync_files(folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


@contextlib.contextmanager
def _as_sentences(target: Path) -> Iterator[None]:
    try:
        yield
    except MosaicError:
        raise
    except OSError as error:
        said = error.strerror or str(error)
        if error.errno in _NO_ROOM or "No space left" in said:
            raise DiskSpaceError(
                f"There is no room for {target}: {said}",
                hint="free some space, or name a folder on another disk",
                path=str(target),
            ) from error
        raise RequestError(
            f"{target} cannot be written: {said}",
            hint="check its permissions, or name another folder",
            path=str(target),
        ) from error
