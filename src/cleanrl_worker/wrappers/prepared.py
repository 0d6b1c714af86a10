"""PreparedEnv: the one wrapper between a raw environment and a batch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import gymnasium

from cleanrl_worker.wrappers.observations import Conversion


class PreparedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Converts observations and ends episodes at the step limit.

    It takes the place of gymnasium's stack of TimeLimit, OrderEnforcing and observation wrappers,
    each of which costs a call per step and keeps its state to itself. Own state, for snapshots:
    `elapsed_steps`; the rest lies in `unwrapped`.
    """

    reports_episodes = False  # whether info["episode"] tells of finished episodes

    def __init__(
        self,
        env: gymnasium.Env[Any, Any],
        conversion: Conversion,
        max_episode_steps: int | None = None,
    ) -> None:
        super().__init__(env)
        self.observation_space = conversion.space
        self.max_episode_steps = max_episode_steps
        self.elapsed_steps = 0
        self._convert = conversion.convert
        self._limit = math.inf if max_episode_steps is None else max_episode_steps

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.elapsed_steps = 0
        observation, info = self.env.reset(seed=seed, options=options)
        if self._convert is not None:
            observation = self._convert(observation)
        return observation, info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.elapsed_steps += 1
        if self.elapsed_steps >= self._limit:
            truncated = True
        if self._convert is not None:
            observation = self._convert(observation)
        return observation, reward, terminated, truncated, info

    def snapshot_state(self) -> dict[str, Any]:
        """The wrapper's own state; that of `unwrapped` is taken elsewhere."""
        return {"elapsed_steps": self.elapsed_steps}

    def restore_state(self, state: Mapping[str, Any]) -> None:
        self.elapsed_steps = int(state["elapsed_steps"])
