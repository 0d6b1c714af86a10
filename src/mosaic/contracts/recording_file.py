"""The bytes of a recording: what was done in a training, so that it can be simulated again.

A file is a sequence of blocks, each with a header of fixed size and checksums of its own; see
docs/reference/recordings.md. Whoever reads it can hop from header to header, finds the next sound
block after a damaged one, and takes a block that is cut off at the end for not yet written.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

SUFFIX = ".rec"
MAGIC = b"MREC"
VERSION = 1
HEADER = struct.Struct("<4sBBHIIQIIQII")
HEADER_BYTES = HEADER.size
# Of one block. Thousands of environments do not give this much in the second between two blocks.
MAX_UNPACKED_BYTES = 128 * 2**20
MAX_PAYLOAD_BYTES = MAX_UNPACKED_BYTES + 2**20  # more is not a length but damage
MAX_FACTS_BYTES = 4 * 2**20  # of a block that is JSON

# slot, flags, first step, step after the last one, length as reported, total reward
_END = struct.Struct("<IIQQQd")
END_BYTES = _END.size
_TERMINATED, _TRUNCATED, _BEGAN_BEFORE = 1, 2, 4


class BlockKind(IntEnum):
    FACTS = 1  # JSON: what was recorded and how; first block of every session
    STEPS = 2  # episodes that ended, actions and rewards of all slots
    KEYFRAME = 3  # the exact state of one slot before a step
    EPISODE = 4  # a whole episode that needs no keyframe
    END = 5  # JSON: why nothing follows
    EPISODES = 6  # whole episodes of a script's process: see process_recording
    VALUES = 7  # what the agent expected at each step of the EPISODE before it


class BlockHeader(NamedTuple):
    """`first_step` counts steps of the whole batch; `slot` is one of its environments."""

    kind: int
    payload_bytes: int
    payload_crc: int
    first_step: int = 0
    steps: int = 0
    slot: int = 0
    first_episode: int = 0
    episodes: int = 0


class EpisodeEnd(NamedTuple):
    """One finished episode, as the journal reports it, and where its actions are."""

    slot: int
    first_step: int
    end_step: int  # the one after its last
    length: int  # as reported; raw frames in some games
    total_reward: float
    terminated: bool
    truncated: bool
    # A resumed training found it running; `first_step` is where this recording begins.
    began_before: bool = False


def recording_name(attempt: int) -> str:
    return f"attempt-{attempt}{SUFFIX}"


def attempt_of(path: Path) -> int | None:
    """The attempt whose recording has this name; None when it is not a recording."""
    name = path.name.removeprefix("attempt-").removesuffix(SUFFIX)
    return int(name) if name.isascii() and name.isdigit() and path.suffix == SUFFIX else None


def pack_block(
    kind: BlockKind,
    payload: bytes,
    *,
    first_step: int = 0,
    steps: int = 0,
    slot: int = 0,
    first_episode: int = 0,
    episodes: int = 0,
) -> bytes:
    fields = (len(payload), crc32(payload), first_step, steps, slot, first_episode, episodes)
    bare = HEADER.pack(MAGIC, VERSION, kind, 0, *fields, 0)[:-4]
    return bare + crc32(bare).to_bytes(4, "little") + payload


def parse_header(data: bytes | memoryview) -> BlockHeader | None:
    """None when these bytes do not start with the header of a block."""
    if len(data) < HEADER_BYTES:
        return None
    magic, version, kind, _, *fields, checksum = HEADER.unpack_from(data)
    if magic != MAGIC or version != VERSION or crc32(data[: HEADER_BYTES - 4]) != checksum:
        return None
    header = BlockHeader(kind, *fields)
    return header if header.payload_bytes <= MAX_PAYLOAD_BYTES else None


def pack_end(end: EpisodeEnd) -> bytes:
    flags = (
        _TERMINATED * end.terminated | _TRUNCATED * end.truncated | _BEGAN_BEFORE * end.began_before
    )
    return _END.pack(end.slot, flags, end.first_step, end.end_step, end.length, end.total_reward)


def parse_ends(data: bytes | memoryview) -> Iterator[EpisodeEnd]:
    for slot, flags, first_step, end_step, length, total in _END.iter_unpack(data):
        yield EpisodeEnd(
            slot,
            first_step,
            end_step,
            length,
            total,
            bool(flags & _TERMINATED),
            bool(flags & _TRUNCATED),
            bool(flags & _BEGAN_BEFORE),
        )
