"""The files of a checkpoint: written durably, hashed on the way, checked before they are read."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from mosaic.errors import CheckpointError
from mosaic.files import atomic_write, sync_directory
from mosaic.foreign.files import open_regular, read_regular

_READ_BYTES = 2**20
_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
FILE_NAME = re.compile(
    r"(?:model|tensors|values|replay)-[0-9-]+\.(?:cleanrl_model|safetensors|json)"
)
_TEMPORARY_NAME = re.compile(r"\.(?P<target>.+)\.[0-9]+\.[0-9a-f]+\.tmp")


class FileRecord(NamedTuple):
    sha256: str
    size: int


class NewFiles:
    """Files that appear in a directory together, once all of them are safely on the disk."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._temporary: dict[Path, Path] = {}

    def write(self, name: str, pieces: Iterable[bytes | memoryview]) -> FileRecord:
        path = self._directory / name
        temporary = self._temporary[path] = _temporary_name(path)
        digest, size = hashlib.sha256(), 0
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for piece in pieces:
                rest = memoryview(piece)
                digest.update(rest)
                size += len(rest)
                while rest:
                    rest = rest[os.write(fd, rest) :]
            os.fsync(fd)
        finally:
            os.close(fd)
        return FileRecord(digest.hexdigest(), size)

    def reveal(self) -> None:
        for path, temporary in self._temporary.items():
            os.replace(temporary, path)  # noqa: PTH105 (as in mosaic.files)
        sync_directory(self._directory)

    def discard(self) -> None:
        for temporary in self._temporary.values():
            with contextlib.suppress(OSError):
                temporary.unlink()


def publish(source: Path, target: Path) -> None:
    """Let `target` be `source` from one moment to the next, without a copy where possible."""
    if target.exists() and target.samefile(source):
        return  # renaming a link over its like would do nothing and leave the link behind
    temporary = _temporary_name(target)
    try:
        os.link(source, temporary)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        atomic_write(target, source.read_bytes())
        return
    try:
        os.replace(temporary, target)  # noqa: PTH105
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_directory(target.parent)


def delete_unneeded(folder: Path, needed: Iterable[str]) -> None:
    """Remove checkpoint files that nothing refers to, and what crashes left of half-written ones.

    Other files are not ours. Failing to delete is no reason to stop a training.
    """
    wanted = set(needed)
    for path in folder.iterdir():
        target = _temporary_target(path.name)
        is_own = FILE_NAME.fullmatch(target or path.name) or target == "manifest.json"
        if is_own and path.name not in wanted:
            with contextlib.suppress(OSError):
                path.unlink()


def delete_temporary_links(*published: Path) -> None:
    """What a crash inside `publish` left beside its targets."""
    for path in published[0].parent.iterdir():
        if _temporary_target(path.name) in {target.name for target in published}:
            with contextlib.suppress(OSError):
                path.unlink()


def _temporary_target(name: str) -> str | None:
    """Which file a temporary one was to become."""
    found = _TEMPORARY_NAME.fullmatch(name)
    return found["target"] if found else None


def read_checked(path: Path, record: FileRecord) -> bytes:
    """The content, exactly as it was written. Raises CheckpointError."""
    check_size(path, record)
    try:
        data = read_regular(path, record.size)
    except OSError as error:
        raise unreadable(path, error) from error
    if hashlib.sha256(data).hexdigest() != record.sha256:
        raise _changed(path)
    return data


def check_file(path: Path, record: FileRecord) -> None:
    """As `read_checked`, without holding the content. Raises CheckpointError."""
    check_size(path, record)
    if file_hash(path) != record.sha256:
        raise _changed(path)


def check_size(path: Path, record: FileRecord) -> None:
    size = regular_size(path)
    if size != record.size:
        raise CheckpointError(
            f"The checkpoint file {path} has {size} bytes, {record.size} were written",
            hint="the file was cut off or changed after it was saved",
        )


def regular_size(path: Path) -> int:
    """Raises CheckpointError unless this is a plain file: a pipe would block for ever."""
    try:
        status = path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise CheckpointError(
            f"The checkpoint file {path} is not a file",
            hint="give the .cleanrl_model file, its .state folder or the folder of the run",
        )
    return status.st_size


def file_hash(path: Path) -> str:
    digest = hashlib.sha256()
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            while piece := file.read(_READ_BYTES):
                digest.update(piece)
    except OSError as error:
        raise unreadable(path, error) from error
    return digest.hexdigest()


def unreadable(path: Path, error: OSError) -> CheckpointError:
    return CheckpointError(
        f"The checkpoint file {path} cannot be read: {error.strerror or error}",
        hint="check the path and its permissions",
    )


def _changed(path: Path) -> CheckpointError:
    return CheckpointError(
        f"The checkpoint file {path} is damaged: its SHA-256 is not the one it was saved with",
        hint="the disk or a program changed it after it was saved",
    )


def _temporary_name(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
