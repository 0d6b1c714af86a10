"""The logs a run host writes: those of the worker, rotated by size, and its own."""

from __future__ import annotations

import contextlib
import json
import os
import time
from pathlib import Path
from typing import Any

from mosaic.runhost.redactor import redact


def split_at_limit(size: int, data: bytes, limit: int) -> tuple[bytes, bytes]:
    """Splits data into what still fits into a file of this size and what goes into the next.

    Cuts after a line where there is one, and inside a line only when it fills a whole file.
    """
    room = limit - size
    if len(data) <= room:
        return data, b""
    cut = data.rfind(b"\n", 0, max(room, 0)) + 1
    if cut == 0 and size == 0:
        cut = limit
    return data[:cut], data[cut:]


class RotatingLog:
    """Files `name.log` (newest), `name.log.1`, … `name.log.<backups>` (oldest)."""

    def __init__(self, path: Path, max_bytes: int, backups: int) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._backups = backups
        self._fd: int | None = None
        self._size = 0
        self._lost_now = 0
        self.lost_bytes = 0
        self._open()  # a silent worker has an empty log, not a missing one

    def write(self, data: bytes) -> None:
        while data:
            if self._fd is None and not self._open():
                self._lose(data)
                return
            head, data = split_at_limit(self._size, data, self._max_bytes)
            self._append(head)
            if data:
                self._rotate()

    def close(self) -> None:
        if self._fd is not None:
            self._note_loss()
            os.close(self._fd)
            self._fd = None

    def _open(self, extra_flags: int = 0) -> bool:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | extra_flags
        # A link leads out of the run, and a FIFO that nobody reads would hold us up forever.
        flags |= os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(self._path, flags, 0o600)
            self._size = os.fstat(self._fd).st_size
        except OSError:
            return False
        return True

    def _append(self, data: bytes) -> None:
        self._note_loss()
        self._lose(data if self._lost_now else self._write_some(data))

    def _note_loss(self) -> None:
        """Once there is room again, say in the log itself that something is missing."""
        if self._lost_now:
            note = b"\n[run host] %d bytes were lost here: no room on the disk\n" % self._lost_now
            if not self._write_some(note):
                self._lost_now = 0

    def _write_some(self, data: bytes) -> bytes:
        """Append as much as fits and return the rest."""
        assert self._fd is not None
        view = memoryview(data)
        while view:
            try:
                written = os.write(self._fd, view)
            except OSError:
                break
            self._size += written
            view = view[written:]
        return bytes(view)

    def _lose(self, data: bytes) -> None:
        self._lost_now += len(data)
        self.lost_bytes += len(data)

    def _rotate(self) -> None:
        assert self._fd is not None
        os.close(self._fd)
        self._fd = None
        names = [self._path, *(self._numbered(n) for n in range(1, self._backups + 1))]
        for newer, older in zip(reversed(names[:-1]), reversed(names[1:]), strict=True):
            with contextlib.suppress(OSError):
                newer.replace(older)
        # Truncating covers both "no backups" and a rename that failed: the log stays bounded.
        self._open(os.O_TRUNC)

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


class HostLog:
    """Also becomes this process's standard output and error, so that a traceback lands in it."""

    def __init__(self, path: Path, secrets: tuple[bytes, ...]) -> None:
        self._secrets = secrets
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            # The worker is running already, and may have put a link or a FIFO there.
            fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError:
            return  # that, or a full disk: keep the descriptors we were given
        os.dup2(fd, 1)
        os.dup2(fd, 2)
        os.close(fd)

    def info(self, event: str, **fields: Any) -> None:
        self._write("INFO", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._write("WARNING", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._write("ERROR", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, Any]) -> None:
        now = time.time()
        entry = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
            + f".{int(now % 1 * 1000):03d}Z",
            "level": level,
            "component": "mosaic.runhost",
            "event": event,
            **fields,
        }
        # A log that cannot be written is no reason to end a run.
        with contextlib.suppress(OSError):
            os.write(2, redact(json.dumps(entry, default=str) + "\n", self._secrets).encode())
