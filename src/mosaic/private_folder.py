"""Folders and files outside the home that must be ours alone, judged by descriptor.

Shared memory, /tmp and the like are full of other people's names, and a name can become a link to
something else between looking at it and using it. So a folder is opened once, without following
links, judged by what the descriptor says, and used through that descriptor from then on.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path

from mosaic.files import write_all

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Not blocking: somebody may have put a pipe there.
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
# How the name of a file ends while it is written; it begins with a dot, and a crash may leave it.
UNFINISHED = ".tmp"


class NotPrivateError(PermissionError):
    """Somebody else prepared it, or can get at it; its text is for people."""


def file_problem(status: os.stat_result) -> str | None:
    """Why this is not a file that only we can read and write, or None."""
    if not stat.S_ISREG(status.st_mode):
        return "it is no regular file"
    if status.st_uid != os.geteuid():
        return f"it belongs to another user ({status.st_uid})"
    if stat.S_IMODE(status.st_mode) & 0o077:
        return f"others may open it (mode {stat.S_IMODE(status.st_mode):o})"
    if status.st_nlink != 1:
        return "it has other names, too"
    return None


class PrivateFolder:
    """An open folder that nobody else can enter. A context manager, like a file."""

    def __init__(self, path: Path, fd: int) -> None:
        """Takes the descriptor over."""
        self.path, self.fd = path, fd

    @classmethod
    def open(cls, path: Path) -> PrivateFolder:
        """Raises FileNotFoundError, NotPrivateError or another OSError."""
        folder = _open_own(path)
        mode = stat.S_IMODE(os.fstat(folder.fd).st_mode)
        if mode & 0o077:
            os.close(folder.fd)
            raise _refused(path, f"others may enter it (mode {mode:o})")
        return folder

    @classmethod
    def make(cls, path: Path) -> PrivateFolder:
        """Only for a folder that is meant for nothing else: others are locked out of it."""
        with contextlib.suppress(FileExistsError):
            path.mkdir(mode=0o700)
        folder = _open_own(path)
        try:
            os.fchmod(folder.fd, 0o700)
        except OSError:
            os.close(folder.fd)
            raise
        return folder

    def __enter__(self) -> PrivateFolder:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)

    def files(self) -> list[str]:
        """Names of the regular files that are ours; not of links, whatever they point at."""
        names = os.listdir(self.fd)  # noqa: PTH208 (a descriptor is not a path)
        return [name for name in names if self._is_own_file(name)]

    def read(self, name: str, max_bytes: int) -> bytes:
        """Raises NotPrivateError when it is not a file of ours, OSError otherwise."""
        fd = os.open(name, _OPEN_FILE, dir_fd=self.fd)
        try:
            if problem := file_problem(os.fstat(fd)):
                raise _refused(self.path / name, problem)
            with os.fdopen(fd, "rb", closefd=False) as file:
                return file.read(max_bytes)
        finally:  # fdopen refuses a folder, and leaves it open
            os.close(fd)

    def write(self, name: str, data: bytes) -> None:
        """Whole or not at all. Not synced: what is out here does not outlive the machine's boot."""
        temporary = f".{name}{UNFINISHED}"
        self.remove(temporary)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(temporary, flags, 0o600, dir_fd=self.fd)
        try:
            write_all(fd, data)
            os.rename(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except BaseException:
            self.remove(temporary)
            raise
        finally:
            os.close(fd)

    def remove(self, name: str) -> None:
        """Of a link, the link."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.fd)

    def _is_own_file(self, name: str) -> bool:
        try:
            status = os.stat(name, dir_fd=self.fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return file_problem(status) is None


def _open_own(path: Path) -> PrivateFolder:
    try:
        fd = os.open(path, _OPEN_FOLDER)
    except OSError as error:
        if error.errno in (errno.ENOTDIR, errno.ELOOP):
            raise _refused(path, "it is a link or a file, and no folder") from None
        raise
    owner = os.fstat(fd).st_uid
    if owner != os.geteuid():
        os.close(fd)
        raise _refused(path, f"it belongs to another user ({owner})")
    return PrivateFolder(path, fd)


def _refused(path: Path, problem: str) -> NotPrivateError:
    return NotPrivateError(errno.EPERM, problem, str(path))
