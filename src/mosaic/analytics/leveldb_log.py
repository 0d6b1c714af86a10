"""LevelDB's log format as W&B writes it: blocks of 32 KiB that hold fragments of records."""

from __future__ import annotations

import zlib
from struct import Struct

from mosaic.analytics.growing_records import GrowingRecords, RecordBatch

FILE_HEADER = b":W&B\xe1\xbe\x00"
BLOCK_BYTES = 32_768
_FRAGMENT = Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class LevelDbLog(GrowingRecords):
    """A damaged block is passed over: the next one starts with a fragment again."""

    _fragments: list[bytes] | None = None
    _fragments_bytes = 0
    # Up to here the file is passed over.
    _skip_to = 0

    def restart(self) -> None:
        super().restart()
        self._fragments = None
        self._skip_to = 0

    def _split(self, data: bytes, available: int, batch: RecordBatch) -> int:
        position = 0
        if self.offset == 0:
            if len(data) < len(FILE_HEADER):
                return 0
            if not data.startswith(FILE_HEADER):
                self._report(batch, 0, "not the header of a W&B log")
                return 0
            position = len(FILE_HEADER)
        while position < len(data):
            place = self.offset + position
            if place < self._skip_to:
                position += min(self._skip_to - place, len(data) - position)
                continue
            block_end = place + BLOCK_BYTES - place % BLOCK_BYTES
            if block_end - place < _FRAGMENT.size:
                self._skip_to = block_end
                continue
            if len(data) - position < _FRAGMENT.size:
                break
            crc, length, kind = _FRAGMENT.unpack_from(data, position)
            stop = position + _FRAGMENT.size + length
            if self.offset + stop > block_end or not _FULL <= kind <= _LAST:
                self._pass_over_block(batch, place, block_end)
                continue
            if stop > len(data):
                break
            # The checksum covers the kind, which lies just before the data.
            if zlib.crc32(data[position + 6 : stop]) != crc:
                self._pass_over_block(batch, place, block_end)
                continue
            self._join(kind, data[position + _FRAGMENT.size : stop], place, batch)
            position = stop
        return position

    def _pass_over_block(self, batch: RecordBatch, place: int, block_end: int) -> None:
        self._report(batch, place, "a damaged block, passed over,")
        self._skip_to = block_end
        self._fragments = None

    def _join(self, kind: int, data: bytes, place: int, batch: RecordBatch) -> None:
        if kind in (_FULL, _FIRST):
            if self._fragments is not None:
                self._report(batch, place, "the record before has no end,")
            self._fragments = [data]
            self._fragments_bytes = len(data)
        elif self._fragments is None:
            return  # The rest of a record whose start was passed over.
        else:
            self._fragments.append(data)
            self._fragments_bytes += len(data)
        if self._fragments_bytes > self.max_record_bytes:
            self._report(batch, place, "a record longer than allowed, passed over,")
            self._fragments = None
        elif kind in (_FULL, _LAST):
            batch.records.append(b"".join(self._fragments))
            self._fragments = None
