"""Streams a run's log files, following them through rotation, until the run is over."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from mosaic.daemon.run_feed import RunFeed

CHUNK_BYTES = 262_144
POLL_S = 0.2


class LogTail:
    """Reads one log file forwards; survives its rotation, in which the file gets a new inode."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    def start_at_tail(self, lines: int) -> None:
        """Place the cursor before the last so many lines; 0 means the very beginning."""
        fd = self._open()
        if fd is None or not lines:
            return
        position = end = os.lseek(fd, 0, os.SEEK_END)
        newlines = 0
        while position > 0:
            size = min(CHUNK_BYTES, position)
            position -= size
            block = os.pread(fd, size, position)
            for index in range(len(block) - 1, -1, -1):
                is_last_byte = position + index == end - 1
                if block[index] == 0x0A and not is_last_byte:
                    newlines += 1
                    if newlines == lines:
                        os.lseek(fd, position + index + 1, os.SEEK_SET)
                        return
        os.lseek(fd, 0, os.SEEK_SET)

    def read(self) -> bytes:
        fd = self._open()
        if fd is None:
            return b""
        data = os.read(fd, CHUNK_BYTES)
        if not data and self._is_rotated(fd):
            self.close()
            return self.read()
        return data

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> int | None:
        if self._fd is None:
            try:
                self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return None
        return self._fd

    def _is_rotated(self, fd: int) -> bool:
        try:
            return os.fstat(fd).st_ino != self._path.stat().st_ino
        except FileNotFoundError:
            return False


async def stream_logs(
    run_id: str,
    paths: dict[str, Path],
    tail_lines: int,
    is_over: Callable[[], bool],
    feed: RunFeed,
) -> AsyncIterator[tuple[str, bytes]]:
    """(stream, bytes) pairs until everything is read and `is_over` says nothing more will come."""
    tails = {stream: LogTail(path) for stream, path in paths.items()}
    try:
        for tail in tails.values():
            tail.start_at_tail(tail_lines)
        with feed.watch(run_id) as watcher:
            while True:
                # Asked before reading: what is written before the end is read after this look.
                was_over = is_over()
                found = False
                for stream, tail in tails.items():
                    while data := tail.read():
                        found = True
                        yield stream, data
                if was_over and not found:
                    return
                if not found:
                    await watcher.wait(POLL_S)
    finally:
        for tail in tails.values():
            tail.close()
