"""Streams a run's log files, through their rotation, until the run is over.

A cursor is `stream:inode:offset`: rotation renames a file but keeps its inode, so a client that
reconnects goes on exactly behind what it has.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from mosaic.daemon.streams.run_feed import RunFeed
from mosaic.errors import ConfigError
from mosaic.foreign_files import open_regular
from mosaic.telemetry.log_files import log_files

CHUNK_BYTES = 262_144
POLL_S = 0.2


@dataclass(frozen=True)
class LogPiece:
    stream: str
    data: bytes
    cursor: str


class LogTail:
    """Reads one log forwards: its rotated files from the oldest, then the current one for good."""

    def __init__(self, stream: str, path: Path) -> None:
        self._stream = stream
        self._path = path
        self._fd: int | None = None
        self._inode = 0

    def start_after(self, cursor: str) -> None:
        """Behind what a client already has; from the oldest file when that one is gone."""
        try:
            _, inode, offset = cursor.split(":")
            wanted, position = int(inode), int(offset)
            if position < 0:
                raise ValueError
        except ValueError:
            raise ConfigError(f"{cursor!r} is not a log cursor", field="after") from None
        for path in log_files(self._path):
            if not self._open(path) or self._fd is None or self._inode != wanted:
                continue
            # A position beyond the end is of an older file, whose inode this one has inherited.
            if position <= os.fstat(self._fd).st_size:
                os.lseek(self._fd, position, os.SEEK_SET)
                return
        self.close()

    def start_at_tail(self, lines: int) -> None:
        """Before the last so many lines of the current file; 0 means the beginning of all."""
        if not lines or not self._open(self._path) or self._fd is None:
            return
        size = os.fstat(self._fd).st_size
        os.lseek(self._fd, _tail_start(self._fd, size, lines), os.SEEK_SET)

    def read(self) -> LogPiece | None:
        while True:
            if self._fd is None and not self._open_oldest():
                return None
            if self._fd is not None and (data := os.read(self._fd, CHUNK_BYTES)):
                position = os.lseek(self._fd, 0, os.SEEK_CUR)
                return LogPiece(self._stream, data, f"{self._stream}:{self._inode}:{position}")
            if not self._open_next():
                return None

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open_oldest(self) -> bool:
        return any(self._open(path) for path in log_files(self._path))

    def _open_next(self) -> bool:
        """The file after the one we have read to its end, if it was rotated away meanwhile."""
        inodes = [_inode(path) for path in log_files(self._path)]
        if inodes and inodes[-1] in (self._inode, None):
            return False
        if self._inode not in inodes:
            self.close()
            return self._open_oldest()
        follower = log_files(self._path)[inodes.index(self._inode) + 1]
        return self._open(follower)

    def _open(self, path: Path) -> bool:
        try:
            fd = open_regular(path, follow_links=False)
        except OSError:
            return False  # there is none, or what has its name is no log
        self.close()
        self._fd, self._inode = fd, os.fstat(fd).st_ino
        return True


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _tail_start(fd: int, size: int, lines: int) -> int:
    """The offset at which the last so many lines begin."""
    position, newlines = size, 0
    while position > 0:
        length = min(CHUNK_BYTES, position)
        position -= length
        block = os.pread(fd, length, position)
        for index in range(len(block) - 1, -1, -1):
            if block[index] == 0x0A and position + index != size - 1:
                newlines += 1
                if newlines == lines:
                    return position + index + 1
    return 0


async def stream_logs(
    run_id: str,
    paths: dict[str, Path],
    tail_lines: int,
    after: list[str],
    is_over: Callable[[], bool],
    feed: RunFeed,
) -> AsyncIterator[LogPiece]:
    """Pieces until everything is read and `is_over` says that nothing more will come."""
    tails = {stream: LogTail(stream, path) for stream, path in paths.items()}
    try:
        for tail in tails.values():
            tail.start_at_tail(tail_lines)
        for cursor in after:
            stream = cursor.partition(":")[0]
            if stream in tails:
                tails[stream].start_after(cursor)
        with feed.watch(run_id) as watcher:
            while True:
                # Asked before reading: what is written before the end is read after this look.
                was_over = is_over()
                found = False
                for tail in tails.values():
                    while piece := tail.read():
                        found = True
                        yield piece
                if was_over and not found:
                    return
                if not found:
                    await watcher.wait(POLL_S)
    finally:
        for tail in tails.values():
            tail.close()
