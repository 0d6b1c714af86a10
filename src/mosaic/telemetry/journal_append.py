"""Appends chunks that a worker publishes over the wire, so that sending one twice is harmless."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from mosaic.errors import JournalOffsetError, StoreError
from mosaic.files import sync_directory, write_all


def append_chunk(journal_path: Path, offset: int, chunk: bytes) -> int:
    """Make the chunk the journal's bytes from `offset` on; durable when this returns.

    Bytes the journal has already are compared and dropped. The result is where to go on.
    """
    if chunk and not chunk.endswith(b"\n"):
        raise StoreError(
            "A chunk must consist of whole lines", hint="end every event with a newline"
        )
    with _opened(journal_path) as fd:
        end = os.fstat(fd).st_size
        if offset > end:
            raise JournalOffsetError(
                f"The chunk starts at {offset}, the journal ends at {end}",
                hint="send from expected_offset on",
                expected_offset=end,
            )
        separator = _missing_newline(fd, offset)
        if separator:
            chunk = separator + chunk
        known = os.pread(fd, min(len(chunk), end - offset), offset)
        if not chunk.startswith(known):
            raise StoreError(
                f"The chunk at {offset} contradicts what the journal has there",
                hint="register again to learn where the journal ends",
                offset=offset,
            )
        write_all(fd, chunk[len(known) :])
        os.fsync(fd)
        if end == 0:
            sync_directory(journal_path.parent)
        return offset + len(chunk)


def _missing_newline(fd: int, offset: int) -> bytes:
    """A newline where a writer died in the middle of a line that ends at this offset.

    Asked again after that newline was written, the answer is the same: a chunk can be resent.
    """
    around = os.pread(fd, 2, offset - 1) if offset > 0 else b"\n"
    is_torn = around[:1] != b"\n" and around[1:] in (b"", b"\n")
    return b"\n" if is_torn else b""


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield fd
        finally:
            os.close(fd)
    except OSError as error:
        # What a full disk cut off is completed when the sender tries again.
        raise StoreError(
            f"The journal {path} cannot be written: {error.strerror}",
            hint="free some space on the disk, or check its permissions",
            path=str(path),
            errno=error.errno,
        ) from error
