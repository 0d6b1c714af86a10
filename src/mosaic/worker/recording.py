"""RecordingWriter: appends what was done in a training to its recording, block by block.

Nothing here fails a training: when the disk refuses, or the recording becomes too large, it ends
and says why.
"""

from __future__ import annotations

import contextlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from mosaic.contracts.recording_file import (
    BlockKind,
    EpisodeEnd,
    pack_block,
    pack_end,
    recording_name,
)
from mosaic.contracts.run_files import RunFiles
from mosaic.files import write_all

_LEVEL = 1  # level 6 takes three times as long and saves a tenth
# Actions that are drawn from a continuous distribution have nothing to compress: 28 bytes per step
# of HalfCheetah become 27, and that takes longer than all the rest. Nor have values.
_NO_COMPRESSION = 0
_MEGABYTE = 1_000_000
# Left free below the limit, for the block that says why the recording ended.
_ROOM_FOR_END = 4096


@dataclass(frozen=True)
class RecordingFacts:
    """What all of a recording has in common."""

    env_id: str
    settings: Mapping[str, Any]  # for the worker's replay maker
    slots: int
    action_dtype: str  # as numpy writes it: "|u1", "<f4"
    action_shape: tuple[int, ...]
    action_bytes: int  # of one action
    reward_dtype: str = "<f4"
    exactness: str = ""  # what the worker promises of its keyframes
    is_resumed: bool = False  # episodes may have begun before

    @property
    def reward_bytes(self) -> int:
        return int(self.reward_dtype[-1])


class HasAttempt(Protocol):
    """The part of a Run that is needed to find its recording."""

    directory: Path | None
    attempt: int


def recording_path(run: HasAttempt) -> Path | None:
    """Where this attempt is recorded; a run without a folder is not."""
    if run.directory is None:
        return None
    return RunFiles(run.directory).recordings / recording_name(run.attempt)


class RecordingWriter:
    """Appends to `path`, which an earlier session of the same attempt may have begun."""

    def __init__(self, path: Path, facts: RecordingFacts, limit_bytes: int) -> None:
        self.bytes = 0  # written by this writer
        self.keyframe_bytes = 0
        self.why_ended = ""  # empty as long as it continues
        self._limit = limit_bytes
        self._level = _NO_COMPRESSION if facts.action_dtype[1] == "f" else _LEVEL
        self._fd = -1
        self._path = path
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self._fd = os.open(path, flags, 0o600)
        except OSError as error:
            self._fail(error)
            return
        self._append(pack_block(BlockKind.FACTS, _json(asdict(facts))))

    def write_steps(
        self,
        first_step: int,
        steps: int,
        actions: bytes,
        rewards: bytes,
        first_episode: int,
        ends: Sequence[EpisodeEnd],
    ) -> None:
        """Rows of actions and rewards, one per step of the batch with all its slots in order.

        `ends` are the episodes that ended within these steps, numbered from `first_episode`.
        """
        payload = zlib.compress(b"".join([*map(pack_end, ends), actions, rewards]), self._level)
        block = pack_block(
            BlockKind.STEPS,
            payload,
            first_step=first_step,
            steps=steps,
            first_episode=first_episode,
            episodes=len(ends),
        )
        self._append(block)

    def write_keyframe(self, step: int, states: Sequence[bytes]) -> None:
        """The state of each slot before this step."""
        blocks = b"".join(
            pack_block(BlockKind.KEYFRAME, zlib.compress(state, _LEVEL), first_step=step, slot=slot)
            for slot, state in enumerate(states)
        )
        self.keyframe_bytes += len(blocks)
        self._append(blocks)

    def write_episode(
        self,
        number: int,
        end: EpisodeEnd,
        start: Mapping[str, Any],
        actions: bytes,
        rewards: bytes,
        values: bytes = b"",
    ) -> None:
        """A whole episode, and how the replay maker's environment gets to its beginning.

        `values`: float32, what the agent expected of each state it acted in; NaN: unknown.
        """
        text = json.dumps(start).encode()
        parts = (pack_end(end), len(text).to_bytes(4, "little"), text, actions, rewards)
        places = {
            "steps": end.end_step - end.first_step,
            "slot": end.slot,
            "first_episode": number,
            "episodes": 1,
        }
        payload = zlib.compress(b"".join(parts), self._level)
        blocks = pack_block(BlockKind.EPISODE, payload, **places)
        if values:
            payload = zlib.compress(values, _NO_COMPRESSION)
            blocks += pack_block(BlockKind.VALUES, payload, **places)
        self._append(blocks)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self.why_ended = self.why_ended or "closed"

    def _append(self, data: bytes) -> None:
        if self._fd < 0:
            return
        if self.bytes + len(data) + _ROOM_FOR_END > self._limit:
            self._end(f"it reached its limit of {self._limit / _MEGABYTE:.0f} MB")
            return
        try:
            size = os.fstat(self._fd).st_size
            try:
                write_all(self._fd, data)
            except OSError:
                with contextlib.suppress(OSError):
                    os.ftruncate(self._fd, size)  # room for others, and no torn block
                raise
        except OSError as error:
            self._fail(error)
            return
        self.bytes += len(data)

    def _end(self, reason: str) -> None:
        self.why_ended = reason
        with contextlib.suppress(OSError):
            write_all(self._fd, pack_block(BlockKind.END, _json({"reason": reason})))
        self.close()

    def _fail(self, error: OSError) -> None:
        self.why_ended = f"{self._path.name} cannot be written: {error.strerror or error}"
        self.close()


def _json(value: Any) -> bytes:
    return zlib.compress(json.dumps(value).encode())
