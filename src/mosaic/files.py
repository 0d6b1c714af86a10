"""Durable files: the only module that writes a whole file.

A reader sees the old content or the new, never a torn file, also after a power cut: write a
temporary file in the same directory, fsync it, rename it over the target, fsync the directory.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import select
from pathlib import Path
from typing import Any

from mosaic.errors import CorruptStoreError
from mosaic.foreign.files import open_regular, parse_json, read_regular

# Too many open files, no memory, a failing disk: the same look may succeed later.
TRANSIENT_ERRORS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.EINTR, errno.EAGAIN}

# More than any JSON document of our own has.
MOST_JSON_BYTES = 64 * 2**20


def write_all(fd: int, data: bytes) -> None:
    """`os.write` may write less than asked; carry on until all of it is out."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def atomic_write(path: Path, data: bytes, mode: int = 0o600) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        try:
            write_all(fd, data)
            os.fsync(fd)
        finally:
            os.close(fd)
        os.replace(temporary, path)  # noqa: PTH105 (the low-level call is the point here)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    sync_directory(path.parent)


def atomic_write_json(path: Path, value: Any, mode: int = 0o600) -> None:
    atomic_write(path, (json.dumps(value, indent=2, allow_nan=False) + "\n").encode(), mode)


def read_json(path: Path) -> Any | None:
    """The parsed file, or None when it does not exist; ValueError when it is no JSON.

    OSError for anything but a plain file: a pipe that lies there in its place would hold us up.
    """
    try:
        return parse_json(read_regular(path, MOST_JSON_BYTES))
    except FileNotFoundError:
        return None


def make_directory(path: Path, mode: int = 0o777) -> None:
    """With those above it that are missing, and such that a power cut leaves it where it is.

    Syncing a file, or the names in its folder, does not save the name of the folder itself: what
    is acknowledged inside would be gone with it.
    """
    if path.is_dir():
        return
    try:
        path.mkdir(mode=mode, exist_ok=True)
    except FileNotFoundError:
        make_directory(path.parent)
        path.mkdir(mode=mode, exist_ok=True)
    with contextlib.suppress(PermissionError):  # above may be a folder we can write but not read
        sync_directory(path.parent)


def read_bounded(path: Path, most_bytes: int) -> bytes | None:
    """A file that anybody may have put there; None when there is none.

    Raises CorruptStoreError for anything but a plain file of that size, and OSError only for what
    may be over in a moment.
    """
    try:
        return read_regular(path, most_bytes, follow_links=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno in TRANSIENT_ERRORS:
            raise
        raise CorruptStoreError(f"{path.name}: {error.strerror}") from error


def sync_directory(directory: Path) -> None:
    """The names in it, which no sync of the files behind them saves."""
    _sync(directory, os.O_DIRECTORY)


def sync_file(path: Path) -> None:
    """What somebody else has written into it, such as SQLite."""
    _sync(path, os.O_NOFOLLOW)


def _sync(path: Path, flags: int) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_locked(path: Path) -> bool:
    """Whether some process holds an exclusive flock on the file; what cannot be opened is free."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in TRANSIENT_ERRORS:
            raise
        return False
    try:
        # Shared, so that two onlookers do not take each other for the owner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def tail_lines(path: Path, count: int, max_bytes: int = 65_536) -> list[str]:
    """The last lines of a text file, decoded leniently; empty when there is no such file."""
    try:
        with open(open_regular(path, follow_links=False), "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - max_bytes))
            text = file.read(max_bytes).decode("utf-8", errors="replace")
    except OSError:
        return []
    return text.splitlines()[-count:]


def is_readable(fd: int, timeout_s: float | None = None) -> bool:
    """Data, or the end of it, within the time; without a time it waits as long as it takes.

    Not `select.select`, which refuses descriptors of 1024 and more: a process with many
    connections has them.
    """
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(None if timeout_s is None else max(0.0, timeout_s) * 1000))
