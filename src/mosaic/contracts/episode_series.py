"""A series: short episodes of one environment, in one entry of a block of `process_recording`.

Thousands a second may be recorded, so they are stored in columns, which are made without a look at
each episode. A column with one entry stands for as many equal ones. Needs nothing newer than Python
3.9: scripts write this.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from mosaic.contracts.recording_file import MAX_UNPACKED_BYTES

# The state of a PCG64: whether half a number is left, that half; and two numbers of 16 bytes.
_HALF = struct.Struct("<iI")
_LARGE_BYTES = 16
PCG64_BYTES = _HALF.size + 2 * _LARGE_BYTES
WORD_BYTES = 8  # of which there are five columns: half a number, and each large one's two
START_COLUMNS = PCG64_BYTES // WORD_BYTES
# Those, lengths, terminated, truncated, actions and rewards.
COLUMNS = START_COLUMNS + 5
_LENGTH_BYTES = (1, 4)
MAX_EPISODES = 2**20  # of one series: more are not numbers but damage
_REWARD_BYTES = 8
_TERMINATED, _TRUNCATED = 1, 2  # how an episode ended, as it was written before there were columns
_TOO_SHORT = "a series is not as long as said"

Episode = tuple["dict[str, Any]", bytes, bytes]  # facts, actions, rewards


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


def numbers_of(series: dict[str, Any]) -> list[int]:
    """Raises ValueError where they are not those of a series."""
    rows = series["numbers"]
    count = sum(size for _, size in rows)
    if min(size for _, size in rows) < 1 or count > MAX_EPISODES:
        raise ValueError("the numbers of a series are not numbers of episodes")
    if count != len(series.get("lengths", range(count))):
        raise ValueError(_TOO_SHORT)
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


def short_column(data: bytes, entry_bytes: int) -> bytes:
    """One entry, where all are equal."""
    first = data[:entry_bytes]
    return first if data == first * (len(data) // entry_bytes) else data


def parse_series(facts: dict[str, Any], parts: Sequence[bytes]) -> Iterator[Episode]:
    """Raises ValueError, TypeError or KeyError for what is no series."""
    series = facts["series"]
    numbers = numbers_of(series)
    count = len(numbers)
    if len(parts) == COLUMNS:
        words = [_whole(part, count, WORD_BYTES) for part in parts[:START_COLUMNS]]
        lengths = _lengths(parts[START_COLUMNS], count)
        terminated, truncated = (_whole(part, count, 1) for part in parts[-4:-2])

        def start_of(place: int) -> bytes:
            at = place * WORD_BYTES
            return b"".join([word[at : at + WORD_BYTES] for word in words])

    else:
        starts, _, _ = parts
        lengths, ends = series["lengths"], series["ends"]
        if (len(ends), len(starts)) != (count, count * PCG64_BYTES):
            raise ValueError(_TOO_SHORT)
        terminated = bytes(end & _TERMINATED for end in ends)
        truncated = bytes(end & _TRUNCATED for end in ends)

        def start_of(place: int) -> bytes:
            return starts[place * PCG64_BYTES : (place + 1) * PCG64_BYTES]

    common = {name: value for name, value in facts.items() if name != "series"}

    def facts_of(place: int) -> dict[str, Any]:
        return {
            **common,
            "number": numbers[place],
            "start": {"random_state": pcg64_state(start_of(place))},
            "terminated": bool(terminated[place]),
            "truncated": bool(truncated[place]),
        }

    return _each(lengths, facts_of, *parts[-2:])


def _each(
    lengths: Sequence[int],
    facts_of: Callable[[int], dict[str, Any]],
    actions: bytes,
    rewards: bytes,
) -> Iterator[Episode]:
    steps = sum(lengths)
    if min(lengths) < 1 or steps * _REWARD_BYTES > MAX_UNPACKED_BYTES:
        raise ValueError("its episodes are longer than a block can be, or have no steps")
    rewards = _whole(rewards, steps, _REWARD_BYTES)
    action_bytes = len(actions) // steps
    if len(actions) != action_bytes * steps:
        raise ValueError(_TOO_SHORT)
    at = 0
    for place, length in enumerate(lengths):
        yield (
            facts_of(place),
            actions[at * action_bytes : (at + length) * action_bytes],
            rewards[at * _REWARD_BYTES : (at + length) * _REWARD_BYTES],
        )
        at += length


def _whole(column: bytes, count: int, entry_bytes: int) -> bytes:
    if len(column) == entry_bytes:
        return column * count
    if len(column) != count * entry_bytes:
        raise ValueError(_TOO_SHORT)
    return column


def _lengths(column: bytes, count: int) -> Sequence[int]:
    small, large = _LENGTH_BYTES
    if len(column) == count * small:
        return column
    if len(column) != count * large:
        raise ValueError(_TOO_SHORT)
    return struct.unpack(f"<{count}I", column)
