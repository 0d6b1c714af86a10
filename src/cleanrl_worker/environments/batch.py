"""EnvBatch: several copies of one environment, stepped together. What every algorithm trains on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.environments.live_view import LiveView, Note
from mosaic.errors import WorkerError
from mosaic.fastlane.settings import Settings

if TYPE_CHECKING:
    import gymnasium


Array = NDArray[Any]

EXACT = "exact"
UP_TO_RESET = "exact up to environment reset"
_NOTHING_TO_SEE = LiveView()


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
    render_fps: float | None = None  # steps a second that look natural; None: nobody says
    view: LiveView = _NOTHING_TO_SEE  # looked at in every step
    # Called with the environment about to reset itself: the last chance to look at it.
    before_reset: Callable[[int], None] = staticmethod(lambda index: None)
    _clock = 0  # steps of each environment so far

    @abstractmethod
    def reset(self, seed: int) -> Array:
        """Start all of them; environment i is seeded with `seed + i`."""

    @abstractmethod
    def step(self, actions: Array) -> Step:
        """Discrete: integers (num_envs,). Continuous: (num_envs, *shape), clipped to the bounds."""

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Everything needed to continue exactly here: tensors, arrays and JSON values only."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue where `state_dict` was taken."""

    @abstractmethod
    def close(self) -> None: ...

    def render(self, index: int) -> Array:
        """What one of them looks like now, RGB. Does not change how it continues."""
        raise WorkerError(f"environments stepped by {self.vectorization!r} cannot be drawn")

    def open_view(self, settings: Settings, note: Note) -> None:
        """From now on they can be watched; `note` hears of it when that does not work."""
        renders = [partial(self.render, index) for index in range(self.num_envs)]
        self.view = LiveView(settings, renders, note)

    def show_paused(self, is_paused: bool) -> None:
        """Tells viewers why nothing moves."""
        self.view.steps = self._clock
        self.view.show_paused(is_paused)

    def _show(self, rewards: Array) -> None:
        """To be called in a step, when the view is due."""
        self.view.steps = self._clock
        self.view.show(rewards)


def slot_states(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One per environment; each can be loaded by a batch of the same kind with one environment."""
    if "environments" in state:
        return [{"environments": [saved], "video_episodes": 0} for saved in state["environments"]]
    # Stepped natively: every entry has one row per environment.
    return [
        {name: rows[index : index + 1] for name, rows in state.items()}
        for index in range(len(state["states"]))
    ]
