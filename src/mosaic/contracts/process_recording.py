"""What the processes of an unmodified script record: each its own file of whole episodes.

A process does not know under which number the run will report an episode. It counts its own, and
the worker that reports them writes an index beside: episode of the run, process, number there. See
docs/reference/recordings.md. Needs nothing newer than Python 3.9: scripts write this.
"""

from __future__ import annotations

import json
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.contracts.recording_file import MAX_UNPACKED_BYTES, SUFFIX
from mosaic.foreign_files import unpack, unpack_beginning
from mosaic.foreign_json import parse_json

INDEX_SUFFIX = ".index"
# Episode of the run, process, number there, how many in a row; and a checksum of these.
_ROW = struct.Struct("<QQQI")
_CHECK = struct.Struct("<I")
_HEAD_BYTES = 4  # before the JSON: its length
ROW_BYTES = _ROW.size + _CHECK.size
_NAME = re.compile(r"attempt-([0-9]+)\.process-([0-9]+)\.rec")
_INDEX_NAME = re.compile(r"attempt-([0-9]+)" + re.escape(INDEX_SUFFIX))


class Place(NamedTuple):
    """Episodes `first_episode` and following of the run are `first_number`… of that process."""

    first_episode: int
    process: int
    first_number: int
    episodes: int


class PackedEpisode(NamedTuple):
    """`facts` are the text of a JSON object; the rewards are doubles."""

    facts: str
    actions: bytes
    rewards: bytes


class ParsedEpisode(NamedTuple):
    facts: dict[str, Any]
    actions: bytes
    rewards: bytes


def process_file_name(attempt: int, process: int) -> str:
    return f"attempt-{attempt}.process-{process}{SUFFIX}"


def index_name(attempt: int) -> str:
    return f"attempt-{attempt}{INDEX_SUFFIX}"


def index_of(path: Path) -> int | None:
    """The attempt; None when this is not the name of an index."""
    match = _INDEX_NAME.fullmatch(path.name)
    return int(match[1]) if match else None


def process_file_of(path: Path) -> tuple[int, int] | None:
    """The attempt and the process; None when this is not the name of such a file."""
    match = _NAME.fullmatch(path.name)
    return (int(match[1]), int(match[2])) if match else None


def pack_place(place: Place) -> bytes:
    row = _ROW.pack(place.first_episode, place.process, place.first_number, place.episodes)
    return row + _CHECK.pack(zlib.crc32(row))


def parse_places(data: bytes) -> Iterator[Place]:
    """Damaged rows are left out, and so is one that is cut off."""
    for offset in range(0, len(data) - ROW_BYTES + 1, ROW_BYTES):
        row = data[offset : offset + _ROW.size]
        (check,) = _CHECK.unpack_from(data, offset + _ROW.size)
        if zlib.crc32(row) == check:
            yield Place(*_ROW.unpack(row))


def pack_episodes(common: dict[str, Any], episodes: Sequence[PackedEpisode], level: int) -> bytes:
    """The payload of a block: what the process is like, and its episodes with all they did."""
    sizes = [[len(each.actions), len(each.rewards)] for each in episodes]
    table = ",".join([each.facts for each in episodes])
    head = json.dumps({**common, "sizes": sizes})[:-1]
    text = f'{head},"episodes":[{table}]}}'.encode()
    parts = [len(text).to_bytes(_HEAD_BYTES, "little"), text]
    for each in episodes:
        parts += (each.actions, each.rewards)
    return zlib.compress(b"".join(parts), level)


def parse_episodes(payload: bytes) -> tuple[dict[str, Any], list[ParsedEpisode]]:
    """Raises ValueError for what `pack_episodes` did not write."""
    data = unpack(payload, MAX_UNPACKED_BYTES)
    at = _HEAD_BYTES + int.from_bytes(data[:_HEAD_BYTES], "little")
    common = _parse_head(data[_HEAD_BYTES:at])
    found = []
    try:
        table = zip(common.pop("episodes"), common.pop("sizes"))  # noqa: B905  # Python 3.9
        for facts, (actions, rewards) in table:
            middle, end = at + actions, at + actions + rewards
            if not isinstance(facts, dict) or not at <= middle <= end <= len(data):
                raise ValueError("an episode is not as long as said")
            found.append(ParsedEpisode(facts, data[at:middle], data[middle:end]))
            at = end
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no episodes: {error}") from error
    return common, found


def parse_numbers(payload: bytes) -> list[int]:
    """Which episodes a block holds; what they did is not even unpacked. Raises ValueError."""
    size = int.from_bytes(unpack_beginning(payload, _HEAD_BYTES), "little")
    if size > MAX_UNPACKED_BYTES:
        raise ValueError("its table is longer than a block can be")
    common = _parse_head(unpack_beginning(payload, _HEAD_BYTES + size)[_HEAD_BYTES:])
    try:
        return [int(facts["number"]) for facts in common["episodes"]]
    except (TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"no episodes: {error}") from error


def _parse_head(text: bytes) -> dict[str, Any]:
    head = parse_json(text)
    if not isinstance(head, dict):
        raise ValueError("no object describes the episodes")  # noqa: TRY004  # as for all damage
    return head
