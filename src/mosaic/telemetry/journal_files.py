"""The bytes of a journal, plain or packed, by their place in the plain one.

While a run goes on its journal is `events.jsonl`. Once it is over, a long one is replaced by
`events.jsonl.gz` (see `journal_packing`). Readers give the plain path and need not know which form
is there.
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from mosaic.foreign_files import open_regular
from mosaic.logs import get_logger
from mosaic.telemetry.gzip_members import (
    HEAD_BYTES,
    MOST_TEXT_PER_BYTE,
    DamagedMemberError,
    MemberHead,
    next_signature,
    read_head,
    unpacked_member,
)

log = get_logger(__name__)

PACKED_SUFFIX = ".gz"
_SCAN_BYTES = 1_048_576
_INDEXES_KEPT = 64
# As many as 25 GB of text have; more are made to fill the memory of whoever lists them.
_MOST_MEMBERS = 100_000


class JournalBytes(Protocol):
    @property
    def size(self) -> int: ...

    def read(self, count: int, offset: int) -> bytes: ...


def packed_path(journal: Path) -> Path:
    return journal.with_name(journal.name + PACKED_SUFFIX)


def stored_path(journal: Path) -> Path:
    """The file that has the journal's lines now."""
    packed = packed_path(journal)
    return packed if packed.exists() and not journal.exists() else journal


@contextlib.contextmanager
def opened_journal(journal: Path) -> Iterator[JournalBytes]:
    """Raises FileNotFoundError when there is neither form."""
    # In this order: the packed one is in its place before the plain one goes.
    try:
        fd = open_regular(journal)
        is_packed = False
    except FileNotFoundError:
        fd = open_regular(packed_path(journal))
        is_packed = True
    try:
        yield PackedJournal(fd, packed_path(journal)) if is_packed else PlainJournal(fd)
    finally:
        os.close(fd)


class PlainJournal:
    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.size = os.fstat(fd).st_size

    def read(self, count: int, offset: int) -> bytes:
        return os.pread(self._fd, count, offset)


class PlacedMember(NamedTuple):
    """A stretch of text and where its member lies; a gap in the file has no head."""

    text_start: int
    text_end: int
    file_offset: int
    head: MemberHead | None


class PackedJournal:
    """What a damaged member held is replaced by a line that says so, of the same length."""

    def __init__(self, fd: int, path: Path) -> None:
        self._fd = fd
        self._path = path
        status = os.fstat(fd)
        self._members = _index(path, status.st_ino, status.st_size, status.st_mtime_ns)
        self.size = self._members[-1].text_end if self._members else 0

    def read(self, count: int, offset: int) -> bytes:
        end = min(offset + count, self.size)
        first = bisect.bisect(self._members, offset, key=lambda member: member.text_start) - 1
        pieces = []
        for place in range(max(0, first), len(self._members)):
            member = self._members[place]
            if member.text_start >= end:
                break
            wanted = slice(max(0, offset - member.text_start), end - member.text_start)
            pieces.append(self._text(member, wanted))
        return b"".join(pieces)

    def _text(self, member: PlacedMember, wanted: slice) -> bytes:
        try:
            if member.head is None:
                raise DamagedMemberError("the head of a member is damaged")
            data = os.pread(self._fd, member.head.member_bytes, member.file_offset)
            return unpacked_member(data, member.head)[wanted]
        except DamagedMemberError as error:
            return self._stand_in(member, error, wanted)

    def _stand_in(self, member: PlacedMember, error: DamagedMemberError, wanted: slice) -> bytes:
        log.error(
            "journal.damaged",
            path=str(self._path),
            byte=member.file_offset,
            lost_from=member.text_start,
            lost_to=member.text_end,
            reason=str(error),
        )
        length = member.text_end - member.text_start
        start, stop, _ = wanted.indices(length)
        note = (
            f"[{self._path.name} is damaged at byte {member.file_offset}: {error};"
            f" bytes {member.text_start} to {member.text_end} of the journal are lost]"
        ).encode()
        # Only what is wanted: as long as the lost text may have been, it could fill the memory.
        line = note[: length - 1][start:stop].ljust(stop - start)
        return line[:-1] + b"\n" if stop == length and line else line


@functools.lru_cache(maxsize=_INDEXES_KEPT)
def _index(path: Path, inode: int, size: int, mtime_ns: int) -> tuple[PlacedMember, ...]:
    """All members in their order, by hopping from head to head. Read once for each file."""
    fd = open_regular(path)
    try:
        return tuple(_members(fd, path, size))
    finally:
        os.close(fd)


def _members(fd: int, path: Path, size: int) -> Iterator[PlacedMember]:
    offset = text_end = count = 0
    while offset < size and count < _MOST_MEMBERS:
        count += 1
        head = _head_at(fd, offset, size)
        if head is None or head.text_start != text_end:
            found = _next_member(fd, offset, size, text_end)
            if found is None:
                break
            lost_at, (offset, head) = offset, found
            if head.text_start > text_end:
                yield PlacedMember(text_end, head.text_start, lost_at, None)
        if head.is_end_mark:
            return
        yield PlacedMember(head.text_start, head.text_end, offset, head)
        offset, text_end = offset + head.member_bytes, head.text_end
    log.error("journal.truncated", path=str(path), byte=offset, readable_bytes=text_end)


def _head_at(fd: int, offset: int, size: int) -> MemberHead | None:
    try:
        head = read_head(os.pread(fd, HEAD_BYTES, offset))
    except DamagedMemberError:
        return None
    return head if offset + head.member_bytes <= size else None


def _next_member(
    fd: int, damaged_at: int, size: int, text_end: int
) -> tuple[int, MemberHead] | None:
    """The first member behind the damage that can follow the text so far."""
    start = damaged_at + 1
    while start < size:
        data = os.pread(fd, _SCAN_BYTES, start)
        position = next_signature(data, 0)
        while position >= 0:
            offset = start + position
            head = _head_at(fd, offset, size)
            # So much text, and no more, can have been in the bytes that are lost.
            longest = (offset - damaged_at) * MOST_TEXT_PER_BYTE
            if head is not None and 0 <= head.text_start - text_end <= longest:
                return offset, head
            position = next_signature(data, position + 1)
        start += max(1, len(data) - HEAD_BYTES)  # a signature may lie across the edge
    return None
