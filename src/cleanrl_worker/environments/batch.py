"""EnvBatch: several copies of one environment, stepped together. What every algorithm trains on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import gymnasium

Array = NDArray[Any]

EXACT = "exact"
UP_TO_RESET = "exact up to environment reset"


class Episode(NamedTuple):
    """A finished episode: the raw rewards of the game, before any clipping or normalising."""

    env_index: int
    total_reward: float
    length: int
    terminated: bool
    truncated: bool


class Step(NamedTuple):
    """What one step of all environments gave.

    An environment that ends is reset within the same step: `observations` holds the first
    observation of its new episode and `finals` the true last one of the old, so that no transition
    ever leads from one episode into the next and a truncated episode can be bootstrapped.
    """

    observations: Array  # (num_envs, *shape); a new array each time, safe to keep
    rewards: NDArray[np.float32]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    finals: Mapping[int, Array]  # env index -> last observation of the episode that just ended
    episodes: list[Episode]

    def next_observations(self) -> Array:
        """The successors of this transition: final observations where an episode ended."""
        if not self.finals:
            return self.observations
        successors = self.observations.copy()
        for index, final in self.finals.items():
            successors[index] = final
        return successors


class EnvBatch(ABC):
    """Copies of one environment with the family's pre-processing, resetting themselves."""

    num_envs: int
    observation_space: gymnasium.Space[Any]  # of one environment, after pre-processing
    action_space: gymnasium.Space[Any]  # of one environment
    vectorization: str  # how they are stepped, for people: "native", "loop", "processes"
    exactness: str = EXACT  # or UP_TO_RESET: what a resumed training can promise
    observations: Array  # the current ones, after `reset`, `step` and `load_state_dict`

    @abstractmethod
    def reset(self, seed: int) -> Array:
        """Start all of them; environment i is seeded with `seed + i`."""

    @abstractmethod
    def step(self, actions: Array) -> Step:
        """Discrete: integers (num_envs,). Continuous: (num_envs, *shape), clipped to the bounds."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything needed to go on exactly here: tensors, arrays and JSON values only."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken."""

    @abstractmethod
    def close(self) -> None: ...
