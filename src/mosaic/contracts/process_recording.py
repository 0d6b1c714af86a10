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

from mosaic.contracts.episode_series import COLUMNS, START_COLUMNS, numbers_of, parse_series
from mosaic.contracts.recording_file import MAX_UNPACKED_BYTES, SUFFIX
from mosaic.contracts.zlib_stream import zlib_stream
from mosaic.foreign.files import parse_json, unpack, unpack_beginning

INDEX_SUFFIX = ".index"
# Episode of the run, process, number there, how many in a row; and a checksum of these.
_ROW = struct.Struct("<QQQI")
_CHECK = struct.Struct("<I")
_HEAD_BYTES = 4  # before the JSON: its length
_MAX_EPISODES = 2**22  # of one block
ROW_BYTES = _ROW.size + _CHECK.size
_NAME = re.compile(r"attempt-([0-9]+)\.process-([0-9]+)\.rec")
_INDEX_NAME = re.compile(r"attempt-([0-9]+)" + re.escape(INDEX_SUFFIX))


class Place(NamedTuple):
    """Episodes `first_episode` and following of the run are `first_number`… of that process."""

    first_episode: int
    process: int
    first_number: int
    episodes: int


class Packed(NamedTuple):
    """`facts` are the text of a JSON object.

    Of an episode: its actions and its rewards, which are doubles. Of a series, whose facts have
    `series`: its columns, see `mosaic.contracts.episode_series`.
    """

    facts: str
    parts: Sequence[bytes]

    @property
    def starts(self) -> Sequence[bytes]:
        """Random numbers: not worth compressing."""
        return self.parts[: _starts_among(len(self.parts))]

    @property
    def steps(self) -> Sequence[bytes]:
        return self.parts[_starts_among(len(self.parts)) :]


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


def pack_episodes(common: dict[str, Any], episodes: Sequence[Packed], level: int) -> bytes:
    """The payload of a block: what the process is like, and its episodes with all they did."""
    sizes = [list(map(len, each.parts)) for each in episodes]
    table = ",".join([each.facts for each in episodes])
    head = json.dumps({**common, "sizes": sizes})[:-1]
    text = f'{head},"episodes":[{table}]}}'.encode()
    starts = b"".join([part for each in episodes for part in each.starts])
    steps = b"".join([part for each in episodes for part in each.steps])
    text = len(text).to_bytes(_HEAD_BYTES, "little") + text
    return zlib_stream(text, starts, steps, level) if starts else zlib.compress(text + steps, level)


def parse_episodes(payload: bytes) -> tuple[dict[str, Any], list[ParsedEpisode]]:
    """Raises ValueError for what `pack_episodes` did not write."""
    data = unpack(payload, MAX_UNPACKED_BYTES)
    at = _HEAD_BYTES + int.from_bytes(data[:_HEAD_BYTES], "little")
    common = _parse_head(data[_HEAD_BYTES:at])
    found: list[ParsedEpisode] = []

    def take(sizes: Sequence[int]) -> Iterator[bytes]:
        nonlocal at
        for size in sizes:
            if not 0 <= size <= len(data) - at:
                raise ValueError("an episode is not as long as said")
            at += size
            yield data[at - size : at]

    try:
        entries, all_sizes = common.pop("episodes"), common.pop("sizes")
        starts = [list(take(sizes[: _starts_among(len(sizes))])) for sizes in all_sizes]
        for facts, sizes, parts in zip(entries, all_sizes, starts):  # noqa: B905  # Python 3.9
            parts += take(sizes[len(parts) :])
            if "series" in facts:
                found += [ParsedEpisode(*each) for each in parse_series(facts, parts)]
            else:
                actions, rewards = parts
                found.append(ParsedEpisode(dict(facts), actions, rewards))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no episodes: {error}") from error
    return common, found


def _starts_among(parts: int) -> int:
    """Those of a series lie before all else, together with the others'."""
    return START_COLUMNS if parts == COLUMNS else 0


def parse_numbers(payload: bytes) -> list[int]:
    """Which episodes a block holds; what they did is not even unpacked. Raises ValueError."""
    size = int.from_bytes(unpack_beginning(payload, _HEAD_BYTES), "little")
    if size > MAX_UNPACKED_BYTES:
        raise ValueError("its table is longer than a block can be")
    common = _parse_head(unpack_beginning(payload, _HEAD_BYTES + size)[_HEAD_BYTES:])
    try:
        numbers: list[int] = []
        for facts in common["episodes"]:
            numbers += numbers_of(facts["series"]) if "series" in facts else [int(facts["number"])]
            if len(numbers) > _MAX_EPISODES:
                raise ValueError("it claims more episodes than a block can hold")
        return numbers
    except (TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"no episodes: {error}") from error


def _parse_head(text: bytes) -> dict[str, Any]:
    head = parse_json(text)
    if not isinstance(head, dict):
        raise ValueError("no object describes the episodes")  # noqa: TRY004  # as for all damage
    return head
