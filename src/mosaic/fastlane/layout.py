"""The bytes of a segment, and what of them can be believed. Pure.

All numbers are 64-bit little-endian words. The header, by words:

    0 magic          1 version      2 slots           3 bytes of a frame   4 frames of a ring
    5 bytes in all   6 lease: until when somebody watches, in ns of the monotonic clock
    7 first watched slot            8 how many slots are watched           9 frame interval, ns

The slots follow, each with its state, then its ring of frames. A state:

    0 sequence, odd while the rest changes         1 frames so far; the last is the newest
    2 steps    3 episodes   4 last reward*   5 rolling return*   6 steps per second*
    7 when it last changed, ns     8 flags (1 evaluating, 2 paused, 4 a person acts, 8 episode over)
    9 pid of the writer    10 its start, in ticks since the machine's                (* doubles)

A frame: 0 sequence, odd while it is written   1 its number   2 width   3 height, then the pixels,
RGB, row by row.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

MAGIC = b"MOSAICFL"
VERSION = 1
RING = 3  # one being written, the newest, and the one before it, which a reader may still copy
CHANNELS = 3

SEQUENCE = Struct("<Q")
HEADER = Struct("<8sQQQQQ")
LEASE = Struct("<QQQQ")
STATE = Struct("<QQQdddQQQQ")  # behind the sequence
FRAME = Struct("<QQQ")  # behind the sequence
LEASE_OFFSET = HEADER.size
_HEADER_BYTES, _STATE_BYTES, _FRAME_HEADER_BYTES = 256, 128, 64
PIXELS_OFFSET = _FRAME_HEADER_BYTES
_WORD = SEQUENCE.size

EVALUATING, PAUSED, HUMAN_ACTS, OVER = 1, 2, 4, 8

MAX_SLOTS = 64
MAX_FRAME_BYTES = 64 * 2**20
MAX_SIDE = 4096  # of a frame
DEFAULT_BYTES = 8 * 2**20  # of a run
DEFAULT_SLOTS = 8
DEFAULT_MAX_DIM = 480
LEASE_NS = 3_000_000_000  # how long a viewer asks for at once


class BrokenSegmentError(Exception):
    """The bytes are not those of a segment this version understands."""


class Geometry(NamedTuple):
    slots: int
    frame_bytes: int  # room for pixels, in whole words

    @classmethod
    def within(cls, slots: int, max_dim: int, total_bytes: int = DEFAULT_BYTES) -> Geometry:
        """Frames up to `max_dim` square, or smaller where the slots must share the memory."""
        slots = min(max(slots, 1), MAX_SLOTS)
        overhead = _HEADER_BYTES + slots * (_STATE_BYTES + RING * _FRAME_HEADER_BYTES)
        share = (total_bytes - overhead) // (slots * RING)
        wanted = min(max_dim * max_dim * CHANNELS, share)
        return cls(slots, max(_WORD, wanted // _WORD * _WORD))

    @property
    def frame_stride(self) -> int:
        return _FRAME_HEADER_BYTES + self.frame_bytes

    @property
    def slot_stride(self) -> int:
        return _STATE_BYTES + RING * self.frame_stride

    @property
    def total_bytes(self) -> int:
        return _HEADER_BYTES + self.slots * self.slot_stride

    def state_offset(self, slot: int) -> int:
        if not 0 <= slot < self.slots:
            raise IndexError(f"slot {slot} of {self.slots}")
        return _HEADER_BYTES + slot * self.slot_stride

    def frame_offset(self, slot: int, number: int) -> int:
        """Where the frame of this number goes; the first is number 1."""
        return self.state_offset(slot) + _STATE_BYTES + (number - 1) % RING * self.frame_stride


class Lease(NamedTuple):
    """Somebody watches these slots, this often, until then."""

    until_ns: int = 0
    first_slot: int = 0
    slot_count: int = 0
    interval_ns: int = 0

    def covers(self, slot: int, now_ns: int) -> bool:
        """Nobody asks for longer than LEASE_NS: what claims to is not a lease."""
        is_valid = now_ns < self.until_ns <= now_ns + LEASE_NS
        return is_valid and self.first_slot <= slot < self.first_slot + self.slot_count


def pack_header(geometry: Geometry) -> bytes:
    return HEADER.pack(MAGIC, VERSION, *geometry, RING, geometry.total_bytes)


def parse_header(header: bytes, size: int) -> Geometry:
    """What a header claims, if it agrees with itself and with the file. Raises otherwise."""
    if len(header) < HEADER.size:
        raise BrokenSegmentError(f"{len(header)} bytes are too few for a header")
    magic, version, slots, frame_bytes, ring, total = HEADER.unpack(header[: HEADER.size])
    if magic != MAGIC:
        raise BrokenSegmentError("it does not start as a FastLane segment does")
    if version != VERSION:
        raise BrokenSegmentError(f"it is of version {version}, and only {VERSION} is known here")
    if not 1 <= slots <= MAX_SLOTS or not CHANNELS <= frame_bytes <= MAX_FRAME_BYTES:
        raise BrokenSegmentError(f"it claims {slots} slots with frames of {frame_bytes} bytes")
    geometry = Geometry(slots, frame_bytes)
    if ring != RING or frame_bytes % _WORD or not total == geometry.total_bytes == size:
        raise BrokenSegmentError(f"its {size} bytes contradict what its header says")
    return geometry
