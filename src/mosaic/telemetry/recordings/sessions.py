"""RecordingSession: what one process recorded without interruption, found by step and episode."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from math import isfinite, nan
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mosaic.contracts.recording_file import (
    END_BYTES,
    MAX_UNPACKED_BYTES,
    BlockKind,
    EpisodeEnd,
    attempt_of,
    parse_ends,
)
from mosaic.errors import CorruptStoreError
from mosaic.foreign.files import parse_json, unpack_beginning
from mosaic.telemetry.recordings.blocks import (
    Block,
    Damage,
    read_object,
    read_payload,
    read_unpacked,
    scan_blocks,
)

_REWARD_CODES: dict[str, Literal["f", "d"]] = {"<f4": "f", "<f8": "d"}
_LENGTH_BYTES = 4  # before the JSON of a whole episode's start
_FACT_TYPES = {
    "env_id": str,
    "settings": dict,
    "slots": int,
    "action_dtype": str,
    "action_shape": list,
    "action_bytes": int,
    "reward_dtype": str,
    "exactness": str,
    "is_resumed": bool,
}


class SlotSteps(NamedTuple):
    """Some steps of one slot."""

    actions: bytes
    rewards: array[float]


class RecordingSession:
    def __init__(
        self, attempt: int, path: Path, blocks: Iterable[Block], damages: Iterable[Damage]
    ) -> None:
        self.attempt = attempt
        self.path = path
        self.damages = tuple(damages)
        self.why_ended = ""
        self._facts_block: Block | None = None
        self._steps: list[Block] = []
        self._keyframes: dict[int, list[Block]] = defaultdict(list)
        self._wholes: dict[int, Block] = {}
        self._values: dict[int, Block] = {}  # of whole episodes
        for block in blocks:
            match block.header.kind:
                case BlockKind.FACTS:
                    self._facts_block = block
                case BlockKind.STEPS:
                    self._steps.append(block)
                case BlockKind.KEYFRAME:
                    self._keyframes[block.header.slot].append(block)
                case BlockKind.EPISODE:
                    self._wholes[block.header.first_episode] = block
                    self._values.pop(block.header.first_episode, None)  # of an earlier one
                case BlockKind.VALUES if block.header.first_episode in self._wholes:
                    self._values[block.header.first_episode] = block
                case BlockKind.END:
                    self.why_ended = str(read_object(block).get("reason", ""))
        self._first_steps = [block.header.first_step for block in self._steps]
        self._with_ends = [
            block
            for block in self._steps
            if 0 < block.header.episodes * END_BYTES <= MAX_UNPACKED_BYTES
        ]
        self._first_episodes = [block.header.first_episode for block in self._with_ends]

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Raises CorruptStoreError when they are damaged."""
        if self._facts_block is None:
            raise CorruptStoreError(
                f"{self.path.name} is damaged where it says what was recorded",
                hint="what else is in it cannot be used",
                path=str(self.path),
            )
        facts = read_object(self._facts_block)
        problem = _facts_problem(facts)
        if problem:
            raise self._facts_block.damaged(problem)
        return facts

    @property
    def steps_range(self) -> range:
        """All steps of the batch; some may be missing where the file is damaged."""
        if not self._steps:
            return range(0)
        last = self._steps[-1].header
        return range(self._first_steps[0], last.first_step + last.steps)

    def episode_numbers(self) -> Iterator[int]:
        for block in self._with_ends:
            first = block.header.first_episode
            yield from range(first, first + block.header.episodes)
        yield from sorted(self._wholes)

    def find_end(self, number: int) -> EpisodeEnd | None:
        position = bisect_right(self._first_episodes, number) - 1
        if position < 0:
            return None
        block = self._with_ends[position]
        offset = number - block.header.first_episode
        return self._ends(block)[offset] if offset < block.header.episodes else None

    def last_end(self, slot: int, before: int) -> EpisodeEnd | None:
        """The last episode of this slot that was over when step `before` began."""
        position = bisect_right(self._first_steps, before) - 1
        for block in reversed(self._steps[: position + 1]):
            ends = self._ends(block) if block.header.episodes else ()
            for end in reversed(ends):
                if end.slot == slot and end.end_step <= before:
                    return end
        return None

    def find_whole(self, number: int) -> tuple[EpisodeEnd, dict[str, Any], SlotSteps] | None:
        """An episode that was recorded in one block, and how it starts."""
        block = self._wholes.get(number)
        if block is None:
            return None
        data = read_unpacked(block)
        text_at = END_BYTES + _LENGTH_BYTES
        text_end = text_at + int.from_bytes(data[END_BYTES:text_at], "little")
        actions_end = text_end + block.header.steps * self.facts["action_bytes"]
        rewards_end = actions_end + block.header.steps * self._reward_bytes
        try:
            if len(data) != rewards_end:
                raise ValueError("it is not as long as its steps")
            start = parse_json(data[text_at:text_end])
        except ValueError as error:
            raise block.damaged(str(error)) from error
        if not isinstance(start, dict):
            raise block.damaged("it does not say how the episode starts")
        (end,) = parse_ends(data[:END_BYTES])
        return end, start, SlotSteps(data[text_end:actions_end], self._numbers(data[actions_end:]))

    def values_of(self, number: int) -> array[float]:
        """What the agent expected at each step of a whole episode; NaN where that is unknown.

        Empty where nobody told it, or what was told is damaged: it can be replayed all the same.
        """
        numbers: array[float] = array("f")
        block = self._values.get(number)
        if block is None:
            return numbers
        size = numbers.itemsize * self._wholes[number].header.steps
        try:
            data = read_unpacked(block, min(size, MAX_UNPACKED_BYTES))
        except CorruptStoreError:
            return numbers
        if len(data) == size:
            numbers.frombytes(data)
        if sys.byteorder == "big":
            numbers.byteswap()
        return array("f", (value if isfinite(value) else nan for value in numbers))

    def keyframe(self, slot: int, step: int) -> tuple[int, bytes]:
        """The last sound state of this slot at or before a step, and its own step."""
        damaged: CorruptStoreError | None = None
        for block in reversed(self._keyframes[slot]):
            if block.header.first_step <= step:
                try:
                    return block.header.first_step, read_unpacked(block)
                except CorruptStoreError as error:
                    damaged = damaged or error
        raise damaged or CorruptStoreError(
            f"{self.path.name} holds no state before step {step}",
            hint="the file is damaged; other episodes may still be replayed",
            path=str(self.path),
        )

    def take(self, slot: int, start: int, end: int) -> SlotSteps:
        """What this slot did in steps `start` to `end` - 1. Raises CorruptStoreError for gaps."""
        actions: list[bytes] = []
        rewards = self._numbers(b"")
        position = max(0, bisect_right(self._first_steps, start) - 1)
        reached = start
        for block in self._steps[position:]:
            header = block.header
            if reached >= end or header.first_step > reached:
                break
            if header.first_step + header.steps <= reached:
                continue
            part = slice(reached - header.first_step, min(end - header.first_step, header.steps))
            taken = self._read_slot(block, slot, part)
            actions.append(taken.actions)
            rewards += taken.rewards
            reached = header.first_step + part.stop
        if reached < end:
            raise self._missing(reached, end)
        return SlotSteps(b"".join(actions), rewards)

    def _read_slot(self, block: Block, slot: int, part: slice) -> SlotSteps:
        slots, size = self.facts["slots"], self.facts["action_bytes"]
        actions_at = END_BYTES * block.header.episodes
        row = slots * size
        rewards_at = actions_at + block.header.steps * row
        rewards_row = slots * self._reward_bytes
        length = rewards_at + block.header.steps * rewards_row
        data = memoryview(read_unpacked(block, min(length, MAX_UNPACKED_BYTES)))
        if len(data) != length or not slot < slots:
            raise block.damaged("it is not as long as its steps")
        first = actions_at + part.start * row + slot * size
        last = actions_at + part.stop * row
        if size == 1:
            actions = bytes(data[first:last:row])
        else:
            actions = b"".join([data[at : at + size] for at in range(first, last, row or 1)])
        taken = data[rewards_at + part.start * rewards_row : rewards_at + part.stop * rewards_row]
        rewards = taken.cast("B").cast(self._reward_code)[slot::slots]
        return SlotSteps(actions, self._numbers(rewards.tobytes()))

    @property
    def _reward_code(self) -> Literal["f", "d"]:
        return _REWARD_CODES[self.facts["reward_dtype"]]

    @property
    def _reward_bytes(self) -> int:
        return array(self._reward_code).itemsize

    def _numbers(self, data: bytes) -> array[float]:
        numbers: array[float] = array(self._reward_code, data)
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    def _ends(self, block: Block) -> list[EpisodeEnd]:
        """They come first, so that nothing else needs to be unpacked."""
        count = END_BYTES * block.header.episodes
        try:
            data = unpack_beginning(read_payload(block), min(count, MAX_UNPACKED_BYTES))
        except ValueError as error:
            raise block.damaged(str(error)) from error
        if len(data) != count:
            raise block.damaged("it holds fewer episodes than it claims")
        return list(parse_ends(data))

    def _missing(self, start: int, end: int) -> CorruptStoreError:
        places = ", ".join(f"{damage.offset} to {damage.end}" for damage in self.damages)
        return CorruptStoreError(
            f"{self.path.name} lacks steps {start} to {end - 1}"
            + (f"; bytes {places} are damaged" if places else ""),
            hint="other episodes of this run can still be replayed",
            path=str(self.path),
        )


def open_sessions(folder: Path) -> list[RecordingSession]:
    """All that was recorded of a run, newest first; empty when nothing was."""
    numbered = [(attempt_of(path), path) for path in folder.glob("*")]
    paths = sorted((attempt, path) for attempt, path in numbered if attempt is not None)
    return [session for attempt, path in reversed(paths) for session in _sessions(attempt, path)]


def _sessions(attempt: int, path: Path) -> list[RecordingSession]:
    scan = scan_blocks(path)
    parts: list[list[Block]] = []
    for block in scan.blocks:
        if block.header.kind == BlockKind.FACTS or not parts:
            parts.append([])
        parts[-1].append(block)
    return [RecordingSession(attempt, path, part, scan.damages) for part in reversed(parts)]


def _facts_problem(facts: dict[str, Any]) -> str:
    """Why these are not the facts of a recording; empty when they are."""
    for name, kind in _FACT_TYPES.items():
        if type(facts.get(name)) is not kind:
            return f"{name!r} is missing, or of another type"
    if facts["slots"] < 1 or facts["action_bytes"] < 0:
        return "its sizes are impossible"
    if facts["reward_dtype"] not in _REWARD_CODES:
        return "its rewards are of an unknown type"
    return ""
