"""FrameReplayBuffer: a replay buffer for stacked images that holds each image once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cleanrl_worker.kit.chunked_state import Array, RingChunks, fill_ring
from cleanrl_worker.kit.replay_buffer import (
    Batch,
    random_slots,
    require_memory,
    require_same_ring,
)
from mosaic.errors import WorkerError

_COPIED_FRAMES = 1024


class FrameReplayBuffer:
    """Takes and gives what a ReplayBuffer does, in an eighth of its memory.

    Frames are numbered in the order they come and lie in a ring, number n at n modulo its size. A
    transition is the numbers of `stack + 1` frames: the first `stack` are its observation, the last
    `stack` its successor. An observation that is not the previous successor starts an episode and
    brings its own frames. The ring has room for a new episode every 16 steps and grows when
    episodes are shorter.
    """

    def __init__(
        self,
        capacity: int,
        observation_shape: tuple[int, ...],
        observation_dtype: DTypeLike,
        action_shape: tuple[int, ...],
        action_dtype: DTypeLike,
        num_envs: int = 1,
    ) -> None:
        rows = max(1, capacity // num_envs)
        slots = rows * num_envs
        stack = observation_shape[0]
        frame = np.dtype((observation_dtype, observation_shape[1:]))
        action = np.dtype((action_dtype, action_shape))
        self._frames_per_step = (stack + 1) * num_envs  # at most: all of them start an episode
        frame_count = slots + slots // 16 + 2 * self._frames_per_step
        number_bytes = 8 * (stack + 1)
        slot_bytes = frame.itemsize * frame_count // slots + number_bytes + action.itemsize + 8
        require_memory(slots, slot_bytes)
        self._frames = np.zeros(frame_count, frame)
        self._numbers = np.zeros((rows, num_envs, stack + 1), np.int64)
        self._actions = np.zeros((rows, num_envs), action)
        self._rewards = np.zeros((rows, num_envs), np.float32)
        self._terminated = np.zeros((rows, num_envs), np.float32)
        self._number_slots = self._numbers.reshape(slots, stack + 1)
        self._action_slots = self._actions.reshape(slots, *action_shape)
        self._reward_slots = self._rewards.reshape(slots)
        self._terminated_slots = self._terminated.reshape(slots)
        self._rows, self._num_envs = rows, num_envs
        self._written = 0
        self._frames_written = 0
        self._oldest_frame = 0  # no live transition needs an older one; may lag behind
        self._lineage = object()
        # The previous successors and their frames' numbers, to go on with the same episode.
        self._successors = np.zeros((num_envs, *observation_shape), observation_dtype)
        self._successor_numbers = np.zeros((num_envs, stack), np.int64)

    def __len__(self) -> int:
        return min(self._written, self._rows) * self._num_envs

    @property
    def is_full(self) -> bool:
        return self._written >= self._rows

    def add(
        self,
        observations: Array,
        next_observations: Array,
        actions: Array,
        rewards: Array,
        terminated: Array,
    ) -> None:
        """One step of all environments; the true successors, also where an episode ended."""
        self._make_room()
        row = self._written % self._rows
        for env in range(self._num_envs):
            observation, successor = observations[env], next_observations[env]
            current = self._successor_numbers[env]
            if self._written == 0 or not np.array_equal(self._successors[env], observation):
                current[:] = self._start_episode(observation, successor)
            numbers = self._numbers[row, env]
            numbers[:-1] = current
            numbers[-1] = self._add_frame(successor[-1])
            current[:] = numbers[1:]
        self._successors[:] = next_observations
        self._actions[row] = actions
        self._rewards[row] = rewards
        self._terminated[row] = terminated
        self._written += 1

    def sample(self, batch_size: int, rng: np.random.Generator) -> Batch:
        """Uniform, with replacement. Observations and successors share the frames they share."""
        slots = random_slots(len(self), batch_size, rng)
        frames = self._frames.take(self._number_slots.take(slots, 0) % len(self._frames), 0)
        return Batch(
            frames[:, :-1],
            frames[:, 1:],
            self._action_slots.take(slots, 0),
            self._reward_slots.take(slots),
            self._terminated_slots.take(slots),
        )

    # ---- frames ------------------------------------------------------------------------------

    def _start_episode(self, observation: Array, successor: Array) -> list[int]:
        """The numbers of its first frames; a frame repeated to fill the stack is kept once."""
        if not np.array_equal(observation[1:], successor[:-1]):
            raise ValueError("the successor is not the observation moved on by one frame")
        numbers: list[int] = []
        for index, frame in enumerate(observation):
            repeats = index > 0 and np.array_equal(frame, observation[index - 1])
            numbers.append(numbers[-1] if repeats else self._add_frame(frame))
        return numbers

    def _add_frame(self, frame: Array) -> int:
        number = self._frames_written
        self._frames[number % len(self._frames)] = frame
        self._frames_written = number + 1
        return number

    def _make_room(self) -> None:
        """Before a step: its frames must not overwrite those of a transition that stays."""
        end = self._frames_written + self._frames_per_step
        if end - self._oldest_frame <= len(self._frames):
            return
        oldest_row = (self._written + 1) % self._rows if self.is_full else 0
        self._oldest_frame = int(
            min(self._numbers[oldest_row].min(), self._successor_numbers.min())
        )
        if end - self._oldest_frame > len(self._frames):
            self._grow(len(self._frames) // 8 + self._frames_per_step)

    def _grow(self, extra: int) -> None:
        old = self._frames
        self._frames = np.zeros((len(old) + extra, *old.shape[1:]), old.dtype)
        self._lineage = object()
        # In pieces: a copy of all frames at once would need their memory a third time.
        for start in range(self._oldest_frame, self._frames_written, _COPIED_FRAMES):
            numbers = np.arange(start, min(start + _COPIED_FRAMES, self._frames_written))
            self._frames[numbers % len(self._frames)] = old[numbers % len(old)]

    # ---- checkpoints -------------------------------------------------------------------------

    def chunks(self) -> tuple[RingChunks, RingChunks]:
        """Those of the frames and those of the transitions."""
        return (
            RingChunks({"frames": self._frames}, self._frames_written, (self._lineage, "frames")),
            RingChunks(self._transitions, self._written, (self._lineage, "transitions")),
        )

    def state_dict(self) -> dict[str, Any]:
        """Refers to the buffer's own memory: store it before the next `add`."""
        frames, transitions = self.chunks()
        return {
            "rows": self._rows,
            "written": self._written,
            "frame_rows": len(self._frames),
            "frames_written": self._frames_written,
            "successors": self._successors,
            "successor_numbers": self._successor_numbers,
            "frames": frames,
            "transitions": transitions,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        rows, written = int(state["rows"]), int(state["written"])
        frame_rows, frames_written = int(state["frame_rows"]), int(state["frames_written"])
        require_same_ring(rows, written, self._rows, self._num_envs)
        if frame_rows > len(self._frames) or frames_written > frame_rows:
            # It had grown, or wrapped around at its own size: the numbers hold for that size.
            self._frames = np.zeros((frame_rows, *self._frames.shape[1:]), self._frames.dtype)
        filled = (
            fill_ring({"frames": self._frames}, state["frames"]),
            fill_ring(self._transitions, state["transitions"]),
        )
        if filled != (min(frames_written, frame_rows), min(written, rows)):
            raise WorkerError(f"The saved replay buffer holds {filled[1]} rows of {written}")
        self._successors[:] = state["successors"]
        self._successor_numbers[:] = state["successor_numbers"]
        self._written, self._frames_written = written, frames_written
        self._oldest_frame = max(0, frames_written - len(self._frames))
        self._lineage = object()

    @property
    def _transitions(self) -> dict[str, NDArray[Any]]:
        return {
            "numbers": self._numbers,
            "actions": self._actions,
            "rewards": self._rewards,
            "terminated": self._terminated,
        }
