"""Finds the blocks of a recording without reading what is in them, and unpacks single ones."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from mosaic.contracts.recording_file import (
    HEADER_BYTES,
    MAGIC,
    MAX_FACTS_BYTES,
    MAX_UNPACKED_BYTES,
    BlockHeader,
    parse_header,
)
from mosaic.errors import CorruptStoreError
from mosaic.foreign.files import open_regular, parse_json, unpack

_SEARCHED_BYTES = 1 << 20


class Block(NamedTuple):
    path: Path
    offset: int
    header: BlockHeader

    @property
    def end(self) -> int:
        return self.offset + HEADER_BYTES + self.header.payload_bytes

    def damaged(self, why: str = "") -> CorruptStoreError:
        return CorruptStoreError(
            f"{self.path.name} is damaged between bytes {self.offset} and {self.end}"
            + (f": {why}" if why else ""),
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
    with _opened(path) as fd:
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
    """As it is packed. Raises CorruptStoreError when it is not what was written."""
    with _opened(block.path) as fd:
        payload = os.pread(fd, block.header.payload_bytes, block.offset + HEADER_BYTES)
    if crc32(payload) != block.header.payload_crc:
        raise block.damaged()
    return payload


def read_unpacked(block: Block, most_bytes: int = MAX_UNPACKED_BYTES) -> bytes:
    """Raises CorruptStoreError when it is damaged, or would become larger than that."""
    try:
        return unpack(read_payload(block), most_bytes)
    except ValueError as error:
        raise block.damaged(str(error)) from error


def read_object(block: Block) -> dict[str, Any]:
    """Of a block that is JSON. Raises CorruptStoreError."""
    try:
        value = parse_json(read_unpacked(block, MAX_FACTS_BYTES))
    except ValueError as error:
        raise block.damaged(str(error)) from error
    if not isinstance(value, dict):
        raise block.damaged("it holds no object")
    return value


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        fd = open_regular(path)
    except OSError as error:
        raise CorruptStoreError(
            f"{path.name} cannot be read: {error.strerror}", path=str(path)
        ) from error
    try:
        yield fd
    finally:
        os.close(fd)


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
