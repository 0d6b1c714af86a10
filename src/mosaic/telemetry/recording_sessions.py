"""RecordingSession: what one process recorded without interruption, found by step and episode."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mosaic.contracts.recording_file import (
    END_BYTES,
    BlockKind,
    EpisodeEnd,
    attempt_of,
    parse_ends,
)
from mosaic.errors import CorruptStoreError
from mosaic.telemetry.recording_scan import Block, Damage, read_payload, scan_blocks

_REWARD_CODES = {"<f4": "f", "<f8": "d"}


class Taken(NamedTuple):
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
                case BlockKind.END:
                    self.why_ended = json.loads(zlib.decompress(read_payload(block)))["reason"]
        self._first_steps = [block.header.first_step for block in self._steps]
        self._with_ends = [block for block in self._steps if block.header.episodes]
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
        facts: dict[str, Any] = json.loads(zlib.decompress(read_payload(self._facts_block)))
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

    def find_whole(self, number: int) -> tuple[EpisodeEnd, dict[str, Any], Taken] | None:
        """An episode that was recorded in one block, and how it starts."""
        block = self._wholes.get(number)
        if block is None:
            return None
        data = zlib.decompress(read_payload(block))
        (end,) = parse_ends(data[:END_BYTES])
        length = int.from_bytes(data[END_BYTES : END_BYTES + 4], "little")
        text_end = END_BYTES + 4 + length
        start = json.loads(data[END_BYTES + 4 : text_end])
        actions_end = text_end + block.header.steps * self.facts["action_bytes"]
        rewards = self._numbers(data[actions_end:])
        return end, start, Taken(data[text_end:actions_end], rewards)

    def keyframe(self, slot: int, step: int) -> tuple[int, bytes]:
        """The last sound state of this slot at or before a step, and its own step."""
        damaged: CorruptStoreError | None = None
        for block in reversed(self._keyframes[slot]):
            if block.header.first_step <= step:
                try:
                    return block.header.first_step, zlib.decompress(read_payload(block))
                except CorruptStoreError as error:
                    damaged = damaged or error
        raise damaged or CorruptStoreError(
            f"{self.path.name} holds no state before step {step}",
            hint="the file is damaged; other episodes may still be replayed",
            path=str(self.path),
        )

    def take(self, slot: int, start: int, end: int) -> Taken:
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
        return Taken(b"".join(actions), rewards)

    def _read_slot(self, block: Block, slot: int, part: slice) -> Taken:
        slots, size = self.facts["slots"], self.facts["action_bytes"]
        data = memoryview(zlib.decompress(read_payload(block)))
        actions_at = END_BYTES * block.header.episodes
        row = slots * size
        rewards_at = actions_at + block.header.steps * row
        first = actions_at + part.start * row + slot * size
        last = actions_at + part.stop * row
        if size == 1:
            actions = bytes(data[first:last:row])
        else:
            actions = b"".join([data[at : at + size] for at in range(first, last, row or 1)])
        rewards = self._numbers(data[rewards_at:])
        return Taken(actions, rewards[part.start * slots + slot : part.stop * slots : slots])

    def _numbers(self, data: bytes | memoryview) -> array[float]:
        numbers: array[float] = array(_REWARD_CODES[self.facts["reward_dtype"]], bytes(data))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers

    def _ends(self, block: Block) -> list[EpisodeEnd]:
        """They come first, so that nothing else needs to be decompressed."""
        count = END_BYTES * block.header.episodes
        return list(parse_ends(zlib.decompressobj().decompress(read_payload(block), count)))

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
