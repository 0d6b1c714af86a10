"""Records of a file that another process may still be writing, in bounded pieces.

The offset says up to where the file has been used; a record whose end is not written yet waits.
The bytes at the start and just before the offset are remembered: when they are not there any more,
the file is another one (truncated, replaced) and is read from its start again. A copy with the same
bytes, as rsync leaves it, simply continues.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.errors import CorruptStoreError, StoreError
from mosaic.foreign.files import open_regular

CHUNK_BYTES = 1_048_576
# Longer records are passed over: nothing that we look for comes near this, and a text of JSON
# takes up to twenty times its length once it is parsed.
MAX_RECORD_BYTES = 16 * 1_048_576
_FINGERPRINT_BYTES = 64


@dataclass
class RecordBatch:
    """What one look at the file gave. `problems` are said once, not at every look."""

    records: list[bytes] = field(default_factory=list)
    problems: list[StoreError] = field(default_factory=list)
    # The file is not the one read so far: forget its records, the next batch starts anew.
    is_restarted: bool = False
    has_more: bool = False


@dataclass(frozen=True)
class OpenFile:
    path: Path
    fd: int
    size: int

    def read(self, offset: int, count: int) -> bytes:
        try:
            return os.pread(self.fd, count, offset)
        except OSError as error:
            raise unreadable(self.path, error) from error


def unreadable(path: Path, error: OSError) -> StoreError:
    return StoreError(
        f"{path} cannot be read: {error.strerror}",
        hint="check the disk and the file's permissions",
        path=str(path),
        errno=error.errno,
    )


@contextmanager
def _opened(path: Path) -> Iterator[OpenFile | None]:
    try:
        fd = open_regular(path)
    except OSError as error:
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            raise unreadable(path, error) from error
        fd = -1
    if fd < 0:
        yield None
        return
    try:
        yield OpenFile(path, fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)


class GrowingRecords(ABC):
    """Base of the formats: a subclass knows how records lie in the bytes."""

    def __init__(
        self,
        path: Path,
        *,
        chunk_bytes: int = CHUNK_BYTES,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        self.path = path
        self.offset = 0
        self.max_record_bytes = max_record_bytes
        self._chunk_bytes = chunk_bytes
        # How much the next look reads; a subclass raises it for a record longer than a chunk.
        self._wanted = chunk_bytes
        self._reported_at = -1
        self._head = b""
        self._tail = b""

    def next_batch(self) -> RecordBatch:
        """The next records; none when there is no file, or no whole record yet."""
        batch = RecordBatch()
        with _opened(self.path) as file:
            if file is None:
                return batch
            if not self._is_continued_by(file):
                self.restart()
                batch.is_restarted = batch.has_more = True
                return batch
            available = file.size - self.offset
            data = file.read(self.offset, min(self._wanted, available))
            self._wanted = self._chunk_bytes
            used = self._split(data, available, batch)
            self.offset += used
            if used:
                self._head = file.read(0, min(_FINGERPRINT_BYTES, self.offset))
                self._tail = file.read(self.offset - len(self._head), len(self._head))
            is_longer_asked = len(data) < self._wanted <= available
            batch.has_more = self.offset < file.size and (used > 0 or is_longer_asked)
        return batch

    def restart(self) -> None:
        """Read from the start again."""
        self.offset = 0
        self._wanted = self._chunk_bytes
        self._reported_at = -1
        self._head = self._tail = b""

    @abstractmethod
    def _split(self, data: bytes, available: int, batch: RecordBatch) -> int:
        """Put the whole records of `data` into the batch; how many bytes are done with.

        `data` starts at `offset`; `available` bytes of the file lie behind it. The bytes done
        with may reach past `data`, but not past what is available.
        """

    def _is_continued_by(self, file: OpenFile) -> bool:
        length = len(self._head)
        return (
            file.size >= self.offset
            and file.read(0, length) == self._head
            and file.read(self.offset - length, length) == self._tail
        )

    def _report(self, batch: RecordBatch, offset: int, what: str) -> None:
        if offset == self._reported_at:
            return
        self._reported_at = offset
        batch.problems.append(
            CorruptStoreError(
                f"{self.path}: {what} at byte {offset}",
                hint="what came before it has been read",
                path=str(self.path),
                offset=offset,
            )
        )


class ByteBudget:
    """Without a number there is no end to it. `is_used_up` says whether anybody was turned away."""

    def __init__(self, max_bytes: int | None) -> None:
        self._left = max_bytes
        self.is_used_up = False

    def has_room(self) -> bool:
        if self._left is not None and self._left <= 0:
            self.is_used_up = True
        return not self.is_used_up

    def use(self, count: int) -> None:
        if self._left is not None:
            self._left -= count
