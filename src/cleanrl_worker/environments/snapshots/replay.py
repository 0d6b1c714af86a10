"""ReplaySnapshots: an episode is its beginning and its actions; playing them again leads back."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.environments.batch import EXACT, UP_TO_RESET, Array
from cleanrl_worker.environments.snapshots.random_state import random_state, set_random_state
from cleanrl_worker.environments.snapshots.snapshots import MISFITS, Snapshots

LONGEST_REPLAY = 100_000  # steps; beyond, a checkpoint would take too long to load


class ReplaySnapshots(Snapshots):
    """For every environment that draws all its randomness from `np_random`.

    Worlds that cannot be copied (Box2D) or whose objects have no plain form (MiniGrid) come back
    exactly. Whether they did is checked: observation, return and random numbers must agree.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self._beginning: dict[str, Any] = {}
        self.actions: deque[Any] = deque(maxlen=LONGEST_REPLAY + 1)
        is_random = env.spec is not None and env.spec.nondeterministic
        self.exactness = UP_TO_RESET if is_random else EXACT

    def before_reset(self, seed: int | None) -> None:
        self.actions.clear()
        if seed is None:
            self._beginning = {"random": random_state(self._env)}
        else:
            self._beginning = {"seed": seed}

    def take(self) -> dict[str, Any]:
        if len(self.actions) > LONGEST_REPLAY:
            return {"method": "none", "random": random_state(self._env)}
        return {
            "method": "replay",
            "beginning": self._beginning,
            "actions": _compact(self.actions, self._env.action_space),
            "random": random_state(self._env),
        }

    def put_back(self, saved: Mapping[str, Any], observation: Array, total_reward: float) -> bool:
        try:
            is_same = saved.get("method") == "replay" and self._replay(
                saved, observation, total_reward
            )
            if not is_same:  # the next episode is at least the one that would have come
                set_random_state(self._env, saved["random"])
        except MISFITS:
            return False
        return is_same

    def _replay(self, saved: Mapping[str, Any], observation: Array, total_reward: float) -> bool:
        env, beginning = self._env, saved["beginning"]
        actions = saved["actions"]
        _require_actions(actions, env.action_space)
        seed = beginning.get("seed")
        if seed is None:
            set_random_state(env, beginning["random"])
        self.before_reset(seed)
        reached, _ = env.reset(seed=seed)
        total = 0.0
        is_over = False
        for action in actions.tolist() if actions.ndim == 1 else list(actions):
            if is_over:
                return False
            reached, reward, terminated, truncated, _ = env.step(action)
            self.actions.append(action)
            total += float(reward)
            is_over = terminated or truncated
        return (
            not is_over
            and total == total_reward
            and np.array_equal(reached, observation)
            and random_state(env) == saved["random"]
        )


def _require_actions(actions: Any, space: spaces.Space[Any]) -> None:
    """Raises ValueError for what no training did; engines do not look at their actions."""
    if not isinstance(actions, np.ndarray) or not 0 < actions.ndim <= 1 + len(space.shape or ()):
        raise ValueError("no actions")
    is_fitting = len(actions) <= LONGEST_REPLAY and actions.shape[1:] == (space.shape or ())
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        is_fitting = is_fitting and actions.dtype.kind in "iu"
        is_fitting = is_fitting and bool(np.all((actions >= first) & (actions < first + space.n)))
    elif actions.dtype.kind == "f":
        is_fitting = is_fitting and bool(np.isfinite(actions).all())
    else:
        is_fitting = is_fitting and actions.dtype.kind in "iub"
    if not is_fitting:
        raise ValueError("not actions of this environment")


def _compact(actions: deque[Any], space: spaces.Space[Any]) -> Array:
    if isinstance(space, spaces.Discrete):
        return np.array(actions, dtype=np.min_scalar_type(int(space.n) - 1))
    return np.array(actions, dtype=space.dtype).reshape(len(actions), *(space.shape or ()))
