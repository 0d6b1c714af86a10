"""The records of a TensorBoard event file: TFRecord framing around hand-packed protobufs.

Here, because workers write such files while they train and an export writes them afterwards. The
checksum is CRC-32C (Castagnoli), masked. google-crc32c is used where it is installed, which it is
beside the learners. Without it a table does the same, about a hundred times slower.
"""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Iterable

_POLYNOMIAL = 0x82F63B78
CRC_MASK = 0xA282EAD8


def _table() -> list[int]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (_POLYNOMIAL if number & 1 else 0)
        table.append(number)
    return table


_TABLE = _table()


def crc32c_by_table(data: bytes) -> int:
    crc = 0xFFFFFFFF
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _fastest() -> Callable[[bytes], int]:
    try:
        import google_crc32c
    except ImportError:
        return crc32c_by_table
    if google_crc32c.implementation != "c":
        return crc32c_by_table
    found: Callable[[bytes], int] = google_crc32c.value
    return found


crc32c = _fastest()


def masked_crc(data: bytes) -> int:
    """A checksum of data that holds checksums itself is weak; hence the rotation and the sum."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + CRC_MASK) & 0xFFFFFFFF


Sample = tuple[str, float, int, float]  # name, value, step, wall time

# Tags of the protobuf fields, each named after its message.
_EVENT_WALL_TIME, _EVENT_STEP = 0x09, b"\x10"
_EVENT_FILE_VERSION, _EVENT_SUMMARY, _EVENT_SESSION_LOG = b"\x1a", b"\x2a", b"\x3a"
# -- Records

_SESSION_STATUS = b"\x08"
_SUMMARY_VALUE = b"\x0a"
_VALUE_TAG, _VALUE_SCALAR, _VALUE_TENSOR, _VALUE_METADATA = b"\x0a", b"\x15", b"\x42", b"\x4a"
_METADATA_PLUGIN, _PLUGIN_NAME = b"\x0a", b"\x0a"
_TENSOR_DTYPE, _TENSOR_SHAPE, _TENSOR_STRING = b"\x08", b"\x12", b"\x42"
_SHAPE_DIMENSION, _DIMENSION_SIZE = b"\x12", b"\x08"

_FILE_VERSION = b"brain.Event:2"
_SESSION_START = 1
_DT_STRING = 7
_SCALAR_BYTES = 4

_pack_wall_time = struct.Struct("<Bd").pack
_pack_float = struct.Struct("<f").pack
_pack_uint32 = struct.Struct("<I").pack
_pack_uint64 = struct.Struct("<Q").pack


class ScalarRecords:
    """Packs samples; what repeats (tags, lengths, the current step) only once."""

    def __init__(self) -> None:
        self._summary_heads: dict[str, bytes] = {}
        self._record_heads: dict[int, bytes] = {}

    def pack(self, samples: Iterable[Sample]) -> bytes:
        packed = []
        summary_heads, record_heads = self._summary_heads, self._record_heads
        last_step, step_field = None, b""
        for name, value, step, wall_time in samples:
            if step != last_step:
                last_step, step_field = step, _EVENT_STEP + _varint(step)
            head = summary_heads.get(name)
            if head is None:
                head = summary_heads[name] = _scalar_summary_head(name)
            try:
                number = _pack_float(value)
            except OverflowError:  # finite, but beyond what 32 bits can say
                number = _pack_float(math.copysign(math.inf, value))
            event = _pack_wall_time(_EVENT_WALL_TIME, wall_time) + step_field + head + number
            size = len(event)
            record_head = record_heads.get(size)
            if record_head is None:
                record_head = record_heads[size] = _record_head(size)
            # `masked_crc`, without the call: this loop is what a sample costs.
            crc = crc32c(event)
            masked = ((crc >> 15 | crc << 17) + CRC_MASK) & 0xFFFFFFFF
            packed.append(record_head + event + _pack_uint32(masked))
        return b"".join(packed)


def file_start() -> bytes:
    """What every event file begins with."""
    return _record(_event(0, _EVENT_FILE_VERSION, _FILE_VERSION))


def session_start(step: int) -> bytes:
    """A training begins at this step: older records of it and of later steps are void."""
    return _record(_event(step, _EVENT_SESSION_LOG, _SESSION_STATUS + _varint(_SESSION_START)))


def text_summary(name: str, text: str, step: int) -> bytes:
    """A vector of one string, marked for the page of texts."""
    plugin = _field(_METADATA_PLUGIN, _field(_PLUGIN_NAME, b"text"))
    tensor = _TENSOR_DTYPE + _varint(_DT_STRING)
    tensor += _field(_TENSOR_SHAPE, _field(_SHAPE_DIMENSION, _DIMENSION_SIZE + _varint(1)))
    tensor += _field(_TENSOR_STRING, text.encode(errors="replace"))
    value = _field(_VALUE_TAG, name.encode(errors="replace"))
    value += _field(_VALUE_METADATA, plugin) + _field(_VALUE_TENSOR, tensor)
    return _record(_event(step, _EVENT_SUMMARY, _field(_SUMMARY_VALUE, value)))


def _scalar_summary_head(name: str) -> bytes:
    """Everything of a summary with one scalar before the bytes of its number."""
    value = _field(_VALUE_TAG, name.encode(errors="replace")) + _VALUE_SCALAR
    summary = _SUMMARY_VALUE + _varint(len(value) + _SCALAR_BYTES) + value
    return _EVENT_SUMMARY + _varint(len(summary) + _SCALAR_BYTES) + summary


def _event(step: int, tag: bytes, content: bytes) -> bytes:
    wall_time = _pack_wall_time(_EVENT_WALL_TIME, time.time())
    return wall_time + _EVENT_STEP + _varint(step) + _field(tag, content)


def _field(tag: bytes, content: bytes) -> bytes:
    return tag + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    number &= 0xFFFF_FFFF_FFFF_FFFF  # negative ones as two's complement
    packed = bytearray()
    while number > 0x7F:
        packed.append(number & 0x7F | 0x80)
        number >>= 7
    packed.append(number)
    return bytes(packed)


def _record(data: bytes) -> bytes:
    return _record_head(len(data)) + data + _pack_uint32(masked_crc(data))


def _record_head(size: int) -> bytes:
    length = _pack_uint64(size)
    return length + _pack_uint32(masked_crc(length))
