"""A picture as a PNG file."""

from __future__ import annotations

import zlib
from pathlib import Path
from struct import pack

from mosaic.fastlane.layout import CHANNELS
from mosaic.fastlane.tiling import Picture
from mosaic.files import atomic_write

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_RGB = 2
_BITS = 8
_NO_FILTER = b"\x00"


def write_png(path: Path, picture: Picture) -> None:
    """Readable by others, as pictures are; raises OSError."""
    atomic_write(path, encoded(picture), 0o644)


def encoded(picture: Picture) -> bytes:
    stride = picture.width * CHANNELS
    rows = (
        _NO_FILTER + picture.pixels[start : start + stride]
        for start in range(0, len(picture.pixels), stride)
    )
    head = pack(">IIBBBBB", picture.width, picture.height, _BITS, _RGB, 0, 0, 0)
    body = zlib.compress(b"".join(rows))
    return SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + kind + data + pack(">I", zlib.crc32(kind + data))
