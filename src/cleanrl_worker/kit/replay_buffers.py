"""Replay buffers: past transitions of an off-policy algorithm, sampled uniformly.

ReplayBuffer stores observations as they are, FrameReplayBuffer each image of a stack once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cleanrl_worker.kit.checkpoints.state import Array, RingChunks, fill_ring
from mosaic.errors import ConfigError, WorkerError

_MEMINFO = Path("/proc/meminfo")
_COPIED_FRAMES = 1024


class Batch(NamedTuple):
    """Transitions in fresh memory: the next ones do not change them."""

    observations: Array
    next_observations: Array
    actions: Array
    rewards: NDArray[np.float32]
    terminated: NDArray[np.float32]  # 1 where nothing follows, so `1 - terminated` is a factor


class TransitionRing(ABC):
    """Actions, rewards and ends of transitions; a subclass says how observations are stored.

    The oldest transitions give way once `capacity` of them are held. Each step of the `num_envs`
    environments is one row. A capacity that is no multiple of `num_envs` is rounded down to whole
    rows.
    """

    def __init__(
        self,
        capacity: int,
        observation_bytes: int,  # of one transition
        action_shape: tuple[int, ...],
        action_dtype: DTypeLike,
        num_envs: int,
    ) -> None:
        self._rows, self._num_envs = max(1, capacity // num_envs), num_envs
        self._slots = slots = self._rows * num_envs
        action = np.dtype((action_dtype, action_shape))
        require_memory(slots, observation_bytes + action.itemsize + 8)
        # Zeros come without memory; a page is taken when its first transition is written.
        self._actions = np.zeros((self._rows, num_envs), action)
        self._rewards = np.zeros((self._rows, num_envs), np.float32)
        self._terminated = np.zeros((self._rows, num_envs), np.float32)
        # By slot instead of row and environment, for sampling.
        self._action_slots = self._actions.reshape(slots, *action_shape)
        self._reward_slots = self._rewards.reshape(slots)
        self._terminated_slots = self._terminated.reshape(slots)
        self._written = 0
        self._lineage = object()

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
        row = self._written % self._rows
        self._add_observations(row, observations, next_observations)
        self._actions[row] = actions
        self._rewards[row] = rewards
        self._terminated[row] = terminated
        self._written += 1

    def sample(self, batch_size: int, rng: np.random.Generator) -> Batch:
        """Uniform, with replacement."""
        slots = random_slots(len(self), batch_size, rng)
        observations, next_observations = self._observations_at(slots)
        return Batch(
            observations,
            next_observations,
            self._action_slots.take(slots, 0),
            self._reward_slots.take(slots),
            self._terminated_slots.take(slots),
        )

    @abstractmethod
    def _add_observations(self, row: int, observations: Array, next_observations: Array) -> None:
        """Before the rest of the row is written."""

    @abstractmethod
    def _observations_at(self, slots: NDArray[np.intp]) -> tuple[Array, Array]:
        """Observations and successors of these transitions."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Refers to the buffer's own memory: store it before the next `add`."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...

    @property
    def _outcomes(self) -> dict[str, Array]:
        return {
            "actions": self._actions,
            "rewards": self._rewards,
            "terminated": self._terminated,
        }


class ReplayBuffer(TransitionRing):
    """Stores each observation twice: as it was seen, and as the successor of the one before."""

    def __init__(
        self,
        capacity: int,
        observation_shape: tuple[int, ...],
        observation_dtype: DTypeLike,
        action_shape: tuple[int, ...],
        action_dtype: DTypeLike,
        num_envs: int = 1,
    ) -> None:
        observation = np.dtype((observation_dtype, observation_shape))
        super().__init__(capacity, 2 * observation.itemsize, action_shape, action_dtype, num_envs)
        self._observations = np.zeros((self._rows, num_envs), observation)
        self._next_observations = np.zeros((self._rows, num_envs), observation)
        by_slot = (self._slots, *observation_shape)
        self._observation_slots = self._observations.reshape(by_slot)
        self._next_observation_slots = self._next_observations.reshape(by_slot)

    def _add_observations(self, row: int, observations: Array, next_observations: Array) -> None:
        self._observations[row] = observations
        self._next_observations[row] = next_observations

    def _observations_at(self, slots: NDArray[np.intp]) -> tuple[Array, Array]:
        return (
            self._observation_slots.take(slots, 0),
            self._next_observation_slots.take(slots, 0),
        )

    def chunks(self) -> RingChunks:
        return RingChunks(self._arrays, self._written, self._lineage)

    def state_dict(self) -> dict[str, Any]:
        return {"rows": self._rows, "written": self._written, "transitions": self.chunks()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        written = int(state["written"])
        require_same_ring(int(state["rows"]), written, self._rows, self._num_envs)
        filled = fill_ring(self._arrays, state["transitions"])
        if filled != min(written, int(state["rows"])):
            raise WorkerError(f"The saved replay buffer holds {filled} rows of {written} written")
        self._written = written
        self._lineage = object()

    @property
    def _arrays(self) -> dict[str, Array]:
        return {
            "observations": self._observations,
            "next_observations": self._next_observations,
            **self._outcomes,
        }


class FrameReplayBuffer(TransitionRing):
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
        slots, stack = max(1, capacity // num_envs) * num_envs, observation_shape[0]
        frame = np.dtype((observation_dtype, observation_shape[1:]))
        self._frames_per_step = (stack + 1) * num_envs  # at most: all of them start an episode
        frame_count = slots + slots // 16 + 2 * self._frames_per_step
        frame_bytes = frame.itemsize * frame_count // slots + 8 * (stack + 1)
        super().__init__(capacity, frame_bytes, action_shape, action_dtype, num_envs)
        self._frames = np.zeros(frame_count, frame)
        self._numbers = np.zeros((self._rows, num_envs, stack + 1), np.int64)
        self._number_slots = self._numbers.reshape(slots, stack + 1)
        self._frames_written = 0
        self._oldest_frame = 0  # no live transition needs an older one; may lag behind
        # The previous successors and their frames' numbers, to go on with the same episode.
        self._successors = np.zeros((num_envs, *observation_shape), observation_dtype)
        self._successor_numbers = np.zeros((num_envs, stack), np.int64)

    def _add_observations(self, row: int, observations: Array, next_observations: Array) -> None:
        self._make_room()
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

    def _observations_at(self, slots: NDArray[np.intp]) -> tuple[Array, Array]:
        """Observations and successors share the frames they share."""
        frames = self._frames.take(self._number_slots.take(slots, 0) % len(self._frames), 0)
        return frames[:, :-1], frames[:, 1:]

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
    def _transitions(self) -> dict[str, Array]:
        return {"numbers": self._numbers, **self._outcomes}


def random_slots(count: int, batch_size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Twice as fast as `rng.integers`; a bias of `count` in 2**53 is nobody's concern.

    The product is always below `count`, as the largest double below 1 is rounded down with it.
    """
    if count == 0:
        raise ValueError("nothing to sample: the replay buffer is empty")
    return (rng.random(batch_size) * count).astype(np.intp)


def require_same_ring(saved_rows: int, written: int, rows: int, num_envs: int) -> None:
    """A ring that was never overwritten may go on in a larger one; else only in its like."""
    if saved_rows == rows or (written <= saved_rows < rows):
        return
    raise ConfigError(
        f"The checkpoint's replay buffer has {saved_rows * num_envs} slots, this one "
        f"{rows * num_envs}",
        hint=f"resume with buffer_size={saved_rows * num_envs}",
        field="buffer_size",
    )


def require_memory(slots: int, slot_bytes: int) -> None:
    """Raises ConfigError when the machine could not hold the buffer once it is full."""
    available = available_memory()
    needed = slots * slot_bytes
    if available is None or needed <= available:
        return
    raise ConfigError(
        f"A replay buffer of {slots} transitions needs {needed / 2**30:.1f} GiB, "
        f"{available / 2**30:.1f} GiB are free",
        hint=f"choose buffer_size={int(available * 0.8) // slot_bytes} or less",
        field="buffer_size",
    )


def available_memory() -> int | None:
    """Bytes that can be taken without swapping; None where the system does not say."""
    try:
        text = _MEMINFO.read_text()
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None
