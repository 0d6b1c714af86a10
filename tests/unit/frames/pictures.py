"""Small pictures, drawn with letters, and a reader of PNG files."""

from __future__ import annotations

import zlib
from struct import unpack

from mosaic.fastlane.tiling import Picture
from mosaic.frames.pictures import SIGNATURE

COLOURS = {
    ".": b"\x00\x00\x00",
    "R": b"\xff\x00\x00",
    "G": b"\x00\xff\x00",
    "B": b"\x00\x00\xff",
    "W": b"\xff\xff\xff",
}


def drawn(*rows: str) -> Picture:
    """`drawn("RG", "BW")` has four pixels."""
    return Picture(len(rows[0]), len(rows), b"".join(COLOURS[letter] for letter in "".join(rows)))


def letters(picture: Picture) -> list[str]:
    """The other way round; a colour without a letter is an error."""
    names = {colour: letter for letter, colour in COLOURS.items()}
    text = [names[picture.pixels[at : at + 3]] for at in range(0, len(picture.pixels), 3)]
    width = picture.width
    return ["".join(text[at : at + width]) for at in range(0, len(text), width)]


def read_png(data: bytes) -> Picture:
    """Understands what we write: 8-bit RGB without filters or interlacing."""
    assert data.startswith(SIGNATURE)
    position, chunks = len(SIGNATURE), {}
    while position < len(data):
        (size,) = unpack(">I", data[position : position + 4])
        kind, body = data[position + 4 : position + 8], data[position + 8 : position + 8 + size]
        (checksum,) = unpack(">I", data[position + 8 + size : position + 12 + size])
        assert checksum == zlib.crc32(kind + body)
        chunks[kind] = body
        position += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *rest = unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 2, 0, 0, 0]
    rows = zlib.decompress(chunks[b"IDAT"])
    stride = 1 + 3 * width
    assert len(rows) == stride * height
    lines = [rows[start : start + stride] for start in range(0, len(rows), stride)]
    assert all(line[0] == 0 for line in lines)
    return Picture(width, height, b"".join(line[1:] for line in lines))
