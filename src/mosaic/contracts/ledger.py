"""Ledger: what one process of a watched script counted and logged, in a file of shared memory.

The call that logs a value also writes its record, and memory that is shared outlives the process:
however it ends, nothing of what it logged is missing. The worker reads a moment later, at its own
pace, and gives the memory of what it has read back.

A head with counters that are changed in place is followed by a ring of records that are written
once. A record is whole when its kind, which is written last, is not zero. The ring is so large
that it is never in memory as a whole, unless nobody reads. Needs nothing newer than Python 3.9:
scripts write this.
"""

from __future__ import annotations

import re
import struct

HEAD = struct.Struct("<8sII")  # magic, process id, whether it is closed
MAGIC = b"mosaic-1"
COUNTER = struct.Struct("<Q")
FLAG = struct.Struct("<I")
# Where they lie in the head. The reader changes READ, the writer all others.
CLOSED, STEPS, LOST_VALUES, LOST_EPISODES, READ = 12, 16, 24, 32, 64
HEAD_BYTES = 4096

# A value: step (or NO_STEP), value, name, 0, 0, kind.
# An episode: its number, return, length, environment, flags, kind.
RECORD = struct.Struct("<qdIHBB")
# A name comes in parts, before the first value that bears it: text, name, part, its bytes, kind.
PART = struct.Struct("<16sIHBB")
PART_BYTES = 16
KIND = RECORD.size - 1  # where it lies in a record
VALUE, EPISODE, NAME_PART, NAME_END = 1, 2, 3, 4
NO_STEP = -1
TRUNCATED, EVALUATION, RECORDED = 1, 2, 4  # flags of an episode

MAX_NAME_BYTES = 1024
MAX_LENGTH, MAX_ENVIRONMENT = 2**32 - 1, 2**16 - 1

# Memory is taken and given back in windows of whole pages. The first one is small: many processes
# of a script have a few episodes and nothing else.
WINDOW_RECORDS = 40_960
FIRST_RECORDS = 2_560
RING_RECORDS = 256 * WINDOW_RECORDS
FILE_BYTES = HEAD_BYTES + RING_RECORDS * RECORD.size

_NAME = re.compile(r"([0-9]{1,19})\.ledger")


def ledger_name(number: int) -> str:
    return f"{number}.ledger"


def ledger_number(name: str) -> int | None:
    """None when this is not the name of a ledger."""
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def record_offset(place: int) -> int:
    """Places count on forever; the ring begins anew where it ends."""
    return HEAD_BYTES + place % RING_RECORDS * RECORD.size
