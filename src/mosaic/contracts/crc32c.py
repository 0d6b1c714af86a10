"""The checksum of TensorBoard's records: CRC-32C (Castagnoli), masked.

google-crc32c is used where it is installed, which it is beside the learners. Without it a table
does the same, about a hundred times slower.
"""

from __future__ import annotations

from collections.abc import Callable

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
