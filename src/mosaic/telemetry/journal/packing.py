"""Packs the journal of a run that is over: `events.jsonl` becomes `events.jsonl.gz`.

The packed file is written under another name, compared with the plain one byte by byte, and only
then takes its place. Whatever interrupts this, the plain journal is there and the next attempt
starts over; if both exist, the plain one counts.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from mosaic.errors import StoreError
from mosaic.files import sync_directory, write_all
from mosaic.telemetry.journal.files import PackedJournal, packed_member, packed_path

# A shorter one is not worth packing.
MIN_BYTES = 65_536
# Text per member: enough to pack well, little to unpack for whoever reads a few lines.
MEMBER_BYTES = 262_144
_TEMPORARY_SUFFIX = ".tmp"


def never_stop() -> bool:
    return False


class PackedCopy(NamedTuple):
    """A packed journal, compared with the plain one, that has not taken its place yet."""

    journal: Path
    temporary: Path
    plain_bytes: int
    packed_bytes: int

    @property
    def saved_bytes(self) -> int:
        return self.plain_bytes - self.packed_bytes

    def put_in_place(self) -> None:
        """The journal changes its form. Nobody may be copying the run's files meanwhile."""
        with _as_store_error(self.journal):
            if self.journal.stat().st_size != self.plain_bytes:
                raise StoreError(f"The journal {self.journal} grew while it was packed")
            self.temporary.rename(packed_path(self.journal))
            sync_directory(self.journal.parent)
            self.journal.unlink()
            sync_directory(self.journal.parent)

    def discard(self) -> None:
        with contextlib.suppress(OSError):
            self.temporary.unlink(missing_ok=True)


def pack_journal(
    journal: Path, should_stop: Callable[[], bool] = never_stop, min_bytes: int = MIN_BYTES
) -> int | None:
    """The bytes saved, or None where there was nothing to pack, or no time for it."""
    copy = packed_copy(journal, should_stop, min_bytes)
    if copy is None:
        return None
    try:
        copy.put_in_place()
    finally:
        copy.discard()
    return copy.saved_bytes


def packed_copy(
    journal: Path, should_stop: Callable[[], bool] = never_stop, min_bytes: int = MIN_BYTES
) -> PackedCopy | None:
    """None where there is nothing to pack, or no time for it.

    Only for a run that nobody writes to any more. Raises StoreError, because of a full disk for
    example; then everything is as before.
    """
    packed = packed_path(journal)
    temporary = packed.with_name(packed.name + _TEMPORARY_SUFFIX)
    with _as_store_error(journal):
        # A crash may have left it, also where there is nothing to pack any more.
        temporary.unlink(missing_ok=True)
        if not _is_worth_it(journal, min_bytes):
            return None
        copy = None
        try:
            copy = _write_copy(journal, temporary, should_stop)
        finally:
            if copy is None:
                temporary.unlink(missing_ok=True)
        return copy


def _is_worth_it(journal: Path, min_bytes: int) -> bool:
    try:
        return not journal.is_symlink() and journal.stat().st_size > min_bytes
    except FileNotFoundError:
        return False


def _write_copy(
    journal: Path, temporary: Path, should_stop: Callable[[], bool]
) -> PackedCopy | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
    with _opened(journal, os.O_RDONLY) as plain, _opened(temporary, flags) as target:
        size = 0
        for text in stretches(plain):
            if should_stop():
                return None
            write_all(target, packed_member(text, size))
            size += len(text)
        write_all(target, packed_member(b"", size))  # the end mark
        os.fsync(target)
        _check_same(plain, PackedJournal(target, temporary), journal)
        return PackedCopy(journal, temporary, size, os.fstat(target).st_size)


def stretches(fd: int, length: int = MEMBER_BYTES) -> Iterator[bytes]:
    """All of the file in pieces of whole lines; a line that is longer than a piece is cut."""
    offset = 0
    while data := os.pread(fd, length, offset):
        whole = data.rfind(b"\n") + 1 or len(data)
        yield data[:whole]
        offset += whole


def _check_same(plain: int, packed: PackedJournal, journal: Path) -> None:
    offset = 0
    while data := os.pread(plain, MEMBER_BYTES, offset):
        if packed.read(len(data), offset) != data:
            raise StoreError(f"The packed form of {journal} is not the same from byte {offset} on")
        offset += len(data)
    if packed.size != offset:
        raise StoreError(f"The packed form of {journal} has {packed.size} bytes, not {offset}")


@contextlib.contextmanager
def _as_store_error(journal: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The journal {journal} cannot be packed: {error.strerror}",
            hint="it stays as it is",
            path=str(journal),
            errno=error.errno,
        ) from error


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    fd = os.open(path, flags | os.O_CLOEXEC, 0o600)
    try:
        yield fd
    finally:
        os.close(fd)
