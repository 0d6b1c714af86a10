"""NativeBatch: what every natively stepped environment shares. Seeding, time limit, episodes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from struct import Struct
from typing import Any

import numpy as np
from gymnasium.utils import seeding

from cleanrl_worker.environments.batch import Array, EnvBatch, Episode, Step
from cleanrl_worker.environments.single import make_single
from mosaic.errors import WorkerError

State = tuple[float, ...]
_NO_FINALS: Mapping[int, Array] = {}
_FLOAT = Struct("f")


def single(value: float) -> float:
    """The nearest number in single precision, in which Gymnasium does part of its arithmetic."""
    rounded: float = _FLOAT.unpack(_FLOAT.pack(value))[0]
    return rounded


class NativeBatch(EnvBatch):
    """A subclass says how a state is drawn, moved and seen; states are tuples of plain floats.

    For the handful of copies these algorithms step, Python's floats beat arrays: an operation of
    numpy costs as much on four numbers as on four hundred.
    """

    vectorization = "native"

    def __init__(self, env_id: str, num_envs: int) -> None:
        sample: Any = make_single(env_id)
        self.observation_space = sample.observation_space
        self.action_space = sample.action_space
        self.render_fps = sample.metadata.get("render_fps")
        limit: int = sample.max_episode_steps
        sample.close()
        self.num_envs = num_envs
        self._env_id = env_id
        self._painter: Any = None  # Gymnasium's, made when somebody looks
        self._limit = limit
        self._states: list[State] = []
        self._randoms: list[np.random.Generator] = []
        self._no_flags = np.zeros(num_envs, dtype=np.bool_)
        self._returns = [0.0] * num_envs
        # Counting the steps of each episode would cost more than remembering when it began.
        self._clock = 0
        self._began = [0] * num_envs
        self._next_deadline = limit

    @abstractmethod
    def _draw(self, random: np.random.Generator) -> State:
        """The first state of an episode."""

    @abstractmethod
    def _advance(self, actions: Array) -> tuple[Array, list[int]]:
        """Move all states and add to `_returns`: the rewards, and who terminated."""

    @abstractmethod
    def _observe(self) -> Array:
        """What is seen of all states, as a new array."""

    def _first_observation(self, state: State) -> Array:
        return np.array(state, dtype=np.float32)

    def reset(self, seed: int) -> Array:
        self._randoms = [seeding.np_random(seed + index)[0] for index in range(self.num_envs)]
        self._states = [self._draw(random) for random in self._randoms]
        self._returns = [0.0] * self.num_envs
        self._clock = 0
        self._began = [0] * self.num_envs
        self._next_deadline = self._limit
        self.observations = np.stack([self._first_observation(state) for state in self._states])
        return self.observations

    def step(self, actions: Array) -> Step:
        rewards, terminated = self._advance(actions)
        self._clock += 1
        self.observations = observations = self._observe()
        if terminated or self._clock >= self._next_deadline:
            step = self._end_episodes(rewards, terminated)
            for index, total_reward, *_ in step.episodes:
                self.view.add_episode(index, total_reward)
        else:
            no_flags = self._no_flags
            step = Step(observations, rewards, no_flags.copy(), no_flags.copy(), _NO_FINALS, [])
        if self.view.is_due:
            self._show(rewards)
        return step

    def _end_episodes(self, rewards: Array, terminated: list[int]) -> Step:
        overdue = self._clock - self._limit
        truncated = [index for index, began in enumerate(self._began) if began <= overdue]
        is_terminated, is_truncated = self._no_flags.copy(), self._no_flags.copy()
        is_terminated[terminated] = True
        is_truncated[truncated] = True
        finals: dict[int, Array] = {}
        episodes: list[Episode] = []
        for index in np.flatnonzero(is_terminated | is_truncated).tolist():
            finals[index] = self.observations[index].copy()
            episodes.append(
                Episode(
                    index,
                    self._returns[index],
                    self._clock - self._began[index],
                    bool(is_terminated[index]),
                    bool(is_truncated[index]),
                )
            )
            self.before_reset(index)
            self._begin_episode(index)
        self._next_deadline = min(self._began) + self._limit
        return Step(self.observations, rewards, is_terminated, is_truncated, finals, episodes)

    def _begin_episode(self, index: int) -> None:
        self._states[index] = state = self._draw(self._randoms[index])
        self.observations[index] = self._first_observation(state)
        self._returns[index] = 0.0
        self._began[index] = self._clock

    def state_dict(self) -> dict[str, Any]:
        return {
            "states": np.array(self._states, dtype=np.float64),
            "observations": self.observations.copy(),
            "returns": list(self._returns),
            "lengths": [self._clock - began for began in self._began],
            "randoms": [random.bit_generator.state for random in self._randoms],
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if len(state.get("states", ())) != self.num_envs:
            raise WorkerError(
                f"The checkpoint does not hold the states of {self.num_envs} native environments",
                hint="resume with the num_envs and vectorization it was saved with",
            )
        self._states = [tuple(row) for row in np.asarray(state["states"]).tolist()]
        self.observations = np.array(state["observations"], dtype=np.float32)
        self._returns = [float(value) for value in state["returns"]]
        self._clock = 0
        self._began = [-int(length) for length in state["lengths"]]
        self._next_deadline = min(self._began) + self._limit
        self._randoms = [seeding.np_random(0)[0] for _ in range(self.num_envs)]
        for random, saved in zip(self._randoms, state["randoms"], strict=True):
            random.bit_generator.state = saved

    def render(self, index: int) -> Array:
        if self._painter is None:
            self._painter = make_single(self._env_id, render_mode="rgb_array").unwrapped
        self._pose(self._painter, index)
        picture: Array = self._painter.render()
        return picture

    def _pose(self, painter: Any, index: int) -> None:
        """Put Gymnasium's environment where this one is."""
        painter.state = self._states[index]

    def close(self) -> None:
        self.view.close()
        if self._painter is not None:
            self._painter.close()
