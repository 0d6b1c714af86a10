"""A gzip file of independent members that can be read from any place, and by zcat.

The extra field of each member (RFC 1952, "MJ") says where its text begins in the whole, how long
the text is, how many bytes the member occupies, and the checksum of these three. So a reader hops
from head to head, and behind a damaged member it finds the next by its signature. The last member
is empty: where it is missing, the file is cut off.
"""

from __future__ import annotations

import struct
import zlib
from typing import NamedTuple

from mosaic.foreign_files import unpack

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
