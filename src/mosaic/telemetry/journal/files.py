"""The bytes of a journal, plain or packed, by their place in the plain one.

While a run is live its journal is `events.jsonl`; chunks that a worker publishes over the wire are
appended so that sending one twice is harmless. Once it is over, a long one is replaced by
`events.jsonl.gz` (see `packing`). Readers give the plain path and need not know which form is
there.

The packed form is a gzip file of independent members that can be read from any place, and by zcat.
The extra field of each member (RFC 1952, "MJ") says where its text begins in the whole, how long
the text is, how many bytes the member occupies, and the checksum of these three. So a reader hops
from head to head, and after a damaged member it finds the next by its signature. The last member is
empty: where it is missing, the file is cut off.
"""

from __future__ import annotations

import bisect
import contextlib
import fcntl
import functools
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from mosaic.errors import JournalOffsetError, StoreError
from mosaic.files import sync_directory, write_all
from mosaic.foreign.files import open_regular, unpack
from mosaic.logs import get_logger

# Magic, deflate, "has an extra field", no time, no flags, unknown system, length of the extra
# field, and of ours in it.
_SIGNATURE = b"\x1f\x8b\x08\x04\x00\x00\x00\x00\x00\xff\x18\x00MJ\x14\x00"
_SIZES = struct.Struct("<QII")  # start and length of the text, length of the member
_CRC = struct.Struct("<I")
_TRAILER = struct.Struct("<II")
_SIZES_END = len(_SIGNATURE) + _SIZES.size
HEAD_BYTES = _SIZES_END + _CRC.size
_RAW_DEFLATE = -15
_LEVEL = 6
MAX_TEXT_BYTES = 4 * 1_048_576
# Deflate cannot do better.
MOST_TEXT_PER_BYTE = 1032


class DamagedMemberError(ValueError):
    """These bytes are not the member that their place says."""


class MemberHead(NamedTuple):
    text_start: int
    text_bytes: int
    member_bytes: int

    @property
    def text_end(self) -> int:
        return self.text_start + self.text_bytes

    @property
    def is_end_mark(self) -> bool:
        return self.text_bytes == 0


def packed_member(text: bytes, text_start: int) -> bytes:
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW_DEFLATE)
    body = deflate.compress(text) + deflate.flush()
    sizes = _SIZES.pack(text_start, len(text), HEAD_BYTES + len(body) + _TRAILER.size)
    head = _SIGNATURE + sizes + _CRC.pack(zlib.crc32(sizes))
    return head + body + _TRAILER.pack(zlib.crc32(text), len(text))


def read_head(data: bytes) -> MemberHead:
    if len(data) < HEAD_BYTES or not data.startswith(_SIGNATURE):
        raise DamagedMemberError("no member begins here")
    sizes = data[len(_SIGNATURE) : _SIZES_END]
    if _CRC.unpack_from(data, _SIZES_END)[0] != zlib.crc32(sizes):
        raise DamagedMemberError("its head is damaged")
    head = MemberHead(*_SIZES.unpack(sizes))
    if head.text_bytes > MAX_TEXT_BYTES or head.member_bytes <= HEAD_BYTES + _TRAILER.size:
        raise DamagedMemberError("the sizes in its head are impossible")
    return head


def unpacked_member(data: bytes, head: MemberHead) -> bytes:
    """The text of a whole member; never more than its head says, whatever the bytes would give."""
    if len(data) != head.member_bytes:
        raise DamagedMemberError("it is cut off")
    try:
        text = unpack(data[HEAD_BYTES : -_TRAILER.size], head.text_bytes, _RAW_DEFLATE)
    except ValueError as error:
        raise DamagedMemberError(str(error)) from error
    if _TRAILER.unpack(data[-_TRAILER.size :]) != (zlib.crc32(text), head.text_bytes):
        raise DamagedMemberError("its checksum does not match")
    if len(text) != head.text_bytes:
        raise DamagedMemberError("its length does not match")
    return text


def next_signature(data: bytes, start: int) -> int:
    """Where a member may begin in these bytes, from `start` on; -1 when nowhere."""
    return data.find(_SIGNATURE, start)


log = get_logger(__name__)

PACKED_SUFFIX = ".gz"
_SCAN_BYTES = 1_048_576
_INDEXES_KEPT = 64
# As many as 25 GB of text have; more are meant to fill the memory of whoever lists them.
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


def append_chunk(journal_path: Path, offset: int, chunk: bytes) -> int:
    """Make the chunk the journal's bytes from `offset` on; durable when this returns.

    Bytes the journal has already are compared and dropped. The result is where to continue.
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
