"""A zlib stream of which a part is stored as it is: random numbers are compressed in vain."""

from __future__ import annotations

import struct
import zlib

_HEAD = b"\x78\x01"  # deflate, with the usual window
_RAW = -zlib.MAX_WBITS  # without such a head
_STORED = struct.Struct("<BHH")  # more blocks follow, length, its complement
_MOST_STORED = 0xFFFF
_CHECK = struct.Struct(">I")


def zlib_stream(before: bytes, stored: bytes, after: bytes, level: int) -> bytes:
    """Unpacks to the three of them, as any other stream. Of them, `stored` is not compressed."""
    parts = [_HEAD, _deflated(before, level, zlib.Z_FULL_FLUSH)]
    for start in range(0, len(stored), _MOST_STORED):
        part = stored[start : start + _MOST_STORED]
        parts += (_STORED.pack(0, len(part), len(part) ^ _MOST_STORED), part)
    parts.append(_deflated(after, level, zlib.Z_FINISH))
    check = zlib.adler32(after, zlib.adler32(stored, zlib.adler32(before)))
    parts.append(_CHECK.pack(check))
    return b"".join(parts)


def _deflated(data: bytes, level: int, end: int) -> bytes:
    """Does not refer to what comes before, and ends with a whole byte."""
    deflate = zlib.compressobj(level, zlib.DEFLATED, _RAW)
    return deflate.compress(data) + deflate.flush(end)
