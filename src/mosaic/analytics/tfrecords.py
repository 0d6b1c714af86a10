"""TFRecord framing: length, its checksum, data, their checksum. TensorBoard's files are such."""

from __future__ import annotations

from struct import Struct

from mosaic.analytics.growing_records import GrowingRecords, RecordBatch
from mosaic.contracts.crc32c import masked_crc

_HEAD = Struct("<QI")
_CRC = Struct("<I")
_HEAD_BYTES = _HEAD.size
_FRAME_BYTES = _HEAD_BYTES + _CRC.size
# The same few lengths come again and again; their checked heads are looked up, not computed.
_MAX_KNOWN_HEADS = 4096


class TFRecordFile(GrowingRecords):
    """Stops at a damaged record: where the one behind it starts is anybody's guess."""

    def _split(self, data: bytes, available: int, batch: RecordBatch) -> int:
        position = 0
        end = len(data)
        unpack_crc = _CRC.unpack_from
        append = batch.records.append
        while end - position >= _HEAD_BYTES:
            length = self._length(data[position : position + _HEAD_BYTES])
            if length is None:
                self._report(batch, self.offset + position, "the length of a record is damaged")
                return position
            stop = position + _FRAME_BYTES + length
            if stop > end:
                return self._pass_over_or_wait(position, stop, available, batch)
            record = data[position + _HEAD_BYTES : stop - 4]
            if masked_crc(record) != unpack_crc(data, stop - 4)[0]:
                self._report(batch, self.offset + position, "a damaged record")
                return position
            append(record)
            position = stop
        return position

    def _pass_over_or_wait(
        self, position: int, stop: int, available: int, batch: RecordBatch
    ) -> int:
        if stop - position <= self.max_record_bytes:
            self._wanted = max(self._chunk_bytes, stop - position)
            return position
        self._report(batch, self.offset + position, "a record longer than allowed, passed over,")
        return stop if stop <= available else position

    def _length(self, head: bytes) -> int | None:
        known = _KNOWN_HEADS.get(head)
        if known is None:
            length, crc = _HEAD.unpack(head)
            if masked_crc(head[:8]) != crc:
                return None
            known = int(length)
            if len(_KNOWN_HEADS) < _MAX_KNOWN_HEADS:
                _KNOWN_HEADS[head] = known
        return known


_KNOWN_HEADS: dict[bytes, int] = {}
