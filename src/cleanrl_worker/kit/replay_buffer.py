"""ReplayBuffer: past transitions of an off-policy algorithm, sampled uniformly."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from cleanrl_worker.kit.chunked_state import Array, RingChunks, fill_ring
from mosaic.errors import ConfigError, WorkerError

_MEMINFO = Path("/proc/meminfo")


class Batch(NamedTuple):
    """Transitions in fresh memory: the next ones do not change them."""

    observations: Array
    next_observations: Array
    actions: Array
    rewards: NDArray[np.float32]
    terminated: NDArray[np.float32]  # 1 where nothing follows, so `1 - terminated` is a factor


class ReplayBuffer:
    """A ring of transitions; the oldest give way once `capacity` of them are held.

    Each step of the `num_envs` environments is one row. A capacity that is no multiple of
    `num_envs` is rounded down to whole rows.
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
        observation = np.dtype((observation_dtype, observation_shape))
        action = np.dtype((action_dtype, action_shape))
        slot_bytes = 2 * observation.itemsize + action.itemsize + 8
        require_memory(rows * num_envs, slot_bytes)
        # Zeros come without memory; a page is taken when its first transition is written.
        self._observations = np.zeros((rows, num_envs), observation)
        self._next_observations = np.zeros((rows, num_envs), observation)
        self._actions = np.zeros((rows, num_envs), action)
        self._rewards = np.zeros((rows, num_envs), np.float32)
        self._terminated = np.zeros((rows, num_envs), np.float32)
        self._rows, self._num_envs = rows, num_envs
        self._written = 0
        self._lineage = object()
        # By slot instead of row and environment, for sampling.
        slots = rows * num_envs
        self._observation_slots = self._observations.reshape(slots, *observation_shape)
        self._next_observation_slots = self._next_observations.reshape(slots, *observation_shape)
        self._action_slots = self._actions.reshape(slots, *action_shape)
        self._reward_slots = self._rewards.reshape(slots)
        self._terminated_slots = self._terminated.reshape(slots)

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
        self._observations[row] = observations
        self._next_observations[row] = next_observations
        self._actions[row] = actions
        self._rewards[row] = rewards
        self._terminated[row] = terminated
        self._written += 1

    def sample(self, batch_size: int, rng: np.random.Generator) -> Batch:
        """Uniform, with replacement."""
        slots = random_slots(len(self), batch_size, rng)
        return Batch(
            self._observation_slots.take(slots, 0),
            self._next_observation_slots.take(slots, 0),
            self._action_slots.take(slots, 0),
            self._reward_slots.take(slots),
            self._terminated_slots.take(slots),
        )

    def chunks(self) -> RingChunks:
        return RingChunks(self._arrays, self._written, self._lineage)

    def state_dict(self) -> dict[str, Any]:
        """Refers to the buffer's own memory: store it before the next `add`."""
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
            "actions": self._actions,
            "rewards": self._rewards,
            "terminated": self._terminated,
        }


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
