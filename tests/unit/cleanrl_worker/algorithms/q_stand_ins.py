"""Stand-ins for the Q-learning family: points pushed by one of three actions, and frames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.environments.batch import Array, EnvBatch, Episode, Step
from cleanrl_worker.kit.replay_buffers import Batch
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import DriftingPoints

THREE_ACTIONS = spaces.Discrete(3)


def use_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """The algorithm trains on DriftingPoints, whatever environment it is told."""

    def make(env_id: str, num_envs: int, **_: Any) -> EnvBatch:
        return DriftingPoints(num_envs, action_space=THREE_ACTIONS)

    monkeypatch.setattr("cleanrl_worker.kit.session.make_env_batch", make)


class BlinkingFrames(EnvBatch):
    """Stacks of four frames, each a shade of its own; an episode has five steps."""

    vectorization = "loop"

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.observation_space: gymnasium.Space[Any] = spaces.Box(0, 255, (4, 84, 84), np.uint8)
        self.action_space: gymnasium.Space[Any] = THREE_ACTIONS
        self._time = 0

    def reset(self, seed: int) -> Array:
        self._time = 0
        self.observations = self._first()
        return self.observations

    def step(self, actions: Array) -> Step:
        self._time += 1
        self.observations = np.roll(self.observations, -1, axis=1)
        self.observations[:, -1] = self._shade()
        is_over = self._time % 5 == 0
        finals: dict[int, Array] = {}
        episodes: list[Episode] = []
        if is_over:
            finals = dict(enumerate(self.observations))
            episodes = [Episode(index, 5.0, 5, False, True) for index in finals]
            self.observations = self._first()
        no_flags = np.zeros(self.num_envs, np.bool_)
        rewards = (np.asarray(actions) == 1).astype(np.float32)
        return Step(self.observations, rewards, no_flags, no_flags | is_over, finals, episodes)

    def _shade(self) -> int:
        return (37 * self._time) % 251

    def _first(self) -> Array:
        return np.full((self.num_envs, 4, 84, 84), self._shade() + 1, np.uint8)

    def state_dict(self) -> dict[str, Any]:
        return {"time": self._time, "observations": self.observations}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._time, self.observations = int(state["time"]), np.array(state["observations"])

    def close(self) -> None: ...


def random_transitions(rows: int, num_actions: int, seed: int = 0) -> Batch:
    """Transitions of four numbers; some of them terminate."""
    rng = np.random.default_rng(seed)
    return Batch(
        rng.normal(size=(rows, 4)).astype(np.float32),
        rng.normal(size=(rows, 4)).astype(np.float32),
        rng.integers(num_actions, size=rows),
        rng.normal(size=rows).astype(np.float32) * 3.0,
        (rng.random(rows) < 0.3).astype(np.float32),
    )
