"""Finds the blocks of a recording without reading what is in them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from mosaic.contracts.recording_file import HEADER_BYTES, MAGIC, BlockHeader, parse_header
from mosaic.errors import CorruptStoreError

_SEARCHED_BYTES = 1 << 20


class Block(NamedTuple):
    path: Path
    offset: int
    header: BlockHeader

    @property
    def end(self) -> int:
        return self.offset + HEADER_BYTES + self.header.payload_bytes

    def damaged(self) -> CorruptStoreError:
        return CorruptStoreError(
            f"{self.path.name} is damaged between bytes {self.offset} and {self.end}",
            hint="other episodes of this run can still be replayed",
            path=str(self.path),
            offset=self.offset,
        )


class Damage(NamedTuple):
    """Bytes that belong to no sound block."""

    offset: int
    end: int


class Scan(NamedTuple):
    blocks: list[Block]
    damages: list[Damage]


def scan_blocks(path: Path) -> Scan:
    """Hops from header to header. A block that is cut off at the end is still being written."""
    found = Scan([], [])
    with path.open("rb") as file:
        fd = file.fileno()
        size = os.fstat(fd).st_size
        offset = 0
        while offset < size:
            header = parse_header(os.pread(fd, HEADER_BYTES, offset))
            if header is not None:
                block = Block(path, offset, header)
                if block.end <= size:
                    found.blocks.append(block)
                    offset = block.end
                    continue
            offset = _continue_after_damage(fd, offset, size, header is not None, found)
    return found


def read_payload(block: Block) -> bytes:
    """Raises CorruptStoreError when it is not what was written."""
    with block.path.open("rb") as file:
        payload = os.pread(file.fileno(), block.header.payload_bytes, block.offset + HEADER_BYTES)
    if crc32(payload) != block.header.payload_crc:
        raise block.damaged()
    return payload


def _continue_after_damage(fd: int, offset: int, size: int, has_header: bool, found: Scan) -> int:
    """Where the next sound block is, or the end."""
    broken_from = offset
    if found.blocks and not _is_sound(fd, found.blocks[-1]):
        # Its length may lead into the middle of blocks that were appended after it was cut off.
        broken_from = found.blocks.pop().offset
    following = _find_block(fd, broken_from + 1, size)
    is_cut_off = following is None and (has_header or size - offset < HEADER_BYTES)
    if not is_cut_off or broken_from != offset:
        found.damages.append(Damage(broken_from, size if following is None else following))
    return size if following is None else following


def _is_sound(fd: int, block: Block) -> bool:
    payload = os.pread(fd, block.header.payload_bytes, block.offset + HEADER_BYTES)
    return crc32(payload) == block.header.payload_crc


def _find_block(fd: int, start: int, size: int) -> int | None:
    """The first offset from `start` on with a whole block behind a sound header."""
    while start < size:
        data = os.pread(fd, _SEARCHED_BYTES + HEADER_BYTES, start)
        position = data.find(MAGIC)
        while 0 <= position < _SEARCHED_BYTES:
            header = parse_header(data[position : position + HEADER_BYTES])
            if header is not None:
                offset = start + position
                if offset + HEADER_BYTES + header.payload_bytes <= size:
                    return offset
            position = data.find(MAGIC, position + 1)
        start += _SEARCHED_BYTES
    return None
