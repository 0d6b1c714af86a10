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
_REWARD_BYTES = 8
# The state of a PCG64: whether half a number is left, that half; and two numbers of 16 bytes.
_HALF = struct.Struct("<iI")
_LARGE_BYTES = 16
PCG64_BYTES = _HALF.size + 2 * _LARGE_BYTES
TERMINATED, TRUNCATED = 1, 2  # how an episode of a series ended
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
    `series`: the states of the random numbers, the actions of all its episodes, and their rewards,
    or one of these where all are the same.
    """

    facts: str
    parts: Sequence[bytes]


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
    sizes = [[len(part) for part in each.parts] for each in episodes]
    table = ",".join([each.facts for each in episodes])
    head = json.dumps({**common, "sizes": sizes})[:-1]
    text = f'{head},"episodes":[{table}]}}'.encode()
    parts = [len(text).to_bytes(_HEAD_BYTES, "little"), text]
    for each in episodes:
        parts += each.parts
    return zlib.compress(b"".join(parts), level)


def parse_episodes(payload: bytes) -> tuple[dict[str, Any], list[ParsedEpisode]]:
    """Raises ValueError for what `pack_episodes` did not write."""
    data = unpack(payload, MAX_UNPACKED_BYTES)
    at = _HEAD_BYTES + int.from_bytes(data[:_HEAD_BYTES], "little")
    common = _parse_head(data[_HEAD_BYTES:at])
    found: list[ParsedEpisode] = []
    try:
        table = zip(common.pop("episodes"), common.pop("sizes"))  # noqa: B905  # Python 3.9
        for facts, sizes in table:
            parts = []
            for size in sizes:
                if not 0 <= size <= len(data) - at:
                    raise ValueError("an episode is not as long as said")
                parts.append(data[at : at + size])
                at += size
            if "series" in facts:
                found += _parse_series(facts, *parts)
            else:
                actions, rewards = parts
                found.append(ParsedEpisode(dict(facts), actions, rewards))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"no episodes: {error}") from error
    return common, found


def _parse_series(
    facts: dict[str, Any], starts: bytes, actions: bytes, rewards: bytes
) -> Iterator[ParsedEpisode]:
    series = facts["series"]
    lengths, ends = series["lengths"], series["ends"]
    numbers = _numbers_of(series)
    steps, count = sum(lengths), len(numbers)
    if min(lengths) < 1 or steps * _REWARD_BYTES > MAX_UNPACKED_BYTES:
        raise ValueError("its episodes are longer than a block can be, or have no steps")
    if len(rewards) == _REWARD_BYTES:
        rewards *= steps
    action_bytes = len(actions) // steps
    if (len(ends), len(starts)) != (count, count * PCG64_BYTES) or (len(actions), len(rewards)) != (
        action_bytes * steps,
        _REWARD_BYTES * steps,
    ):
        raise ValueError("a series is not as long as said")
    common = {name: value for name, value in facts.items() if name != "series"}
    at = 0
    for place, (number, length, end) in enumerate(zip(numbers, lengths, ends)):  # noqa: B905
        start = pcg64_state(starts[place * PCG64_BYTES : (place + 1) * PCG64_BYTES])
        yield ParsedEpisode(
            {
                **common,
                "number": number,
                "start": {"random_state": start},
                "terminated": bool(end & TERMINATED),
                "truncated": bool(end & TRUNCATED),
            },
            actions[at * action_bytes : (at + length) * action_bytes],
            rewards[at * _REWARD_BYTES : (at + length) * _REWARD_BYTES],
        )
        at += length


def rows_of(numbers: Sequence[int]) -> list[list[int]]:
    """Ascending numbers as [first, how many follow each other]."""
    if numbers[-1] - numbers[0] == len(numbers) - 1:
        return [[numbers[0], len(numbers)]]
    rows: list[list[int]] = []
    for number in numbers:
        if rows and number == sum(rows[-1]):
            rows[-1][1] += 1
        else:
            rows.append([number, 1])
    return rows


def _numbers_of(series: dict[str, Any]) -> list[int]:
    """Raises ValueError where there are not as many as lengths."""
    rows, count = series["numbers"], len(series["lengths"])
    if sum(size for _, size in rows) != count or min(size for _, size in rows) < 1:
        raise ValueError("a series is not as long as said")
    return [first + place for first, size in rows for place in range(size)]


def pcg64_state(data: bytes) -> dict[str, Any]:
    """The state of numpy's usual generator, as numpy tells it."""
    has_half, half = _HALF.unpack_from(data)
    middle = _HALF.size + _LARGE_BYTES
    return {
        "bit_generator": "PCG64",
        "state": {
            "state": int.from_bytes(data[_HALF.size : middle], "little"),
            "inc": int.from_bytes(data[middle:PCG64_BYTES], "little"),
        },
        "has_uint32": has_half,
        "uinteger": half,
    }


def parse_numbers(payload: bytes) -> list[int]:
    """Which episodes a block holds; what they did is not even unpacked. Raises ValueError."""
    size = int.from_bytes(unpack_beginning(payload, _HEAD_BYTES), "little")
    if size > MAX_UNPACKED_BYTES:
        raise ValueError("its table is longer than a block can be")
    common = _parse_head(unpack_beginning(payload, _HEAD_BYTES + size)[_HEAD_BYTES:])
    try:
        numbers: list[int] = []
        for facts in common["episodes"]:
            numbers += _numbers_of(facts["series"]) if "series" in facts else [int(facts["number"])]
        return numbers
    except (TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"no episodes: {error}") from error


def _parse_head(text: bytes) -> dict[str, Any]:
    head = parse_json(text)
    if not isinstance(head, dict):
        raise ValueError("no object describes the episodes")  # noqa: TRY004  # as for all damage
    return head
