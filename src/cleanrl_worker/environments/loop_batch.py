"""LoopBatch: the environments stepped one after the other, in this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from cleanrl_worker.environments.batch import (
    EXACT,
    UP_TO_RESET,
    Array,
    EnvBatch,
    Episode,
    Step,
)
from cleanrl_worker.environments.rendering import EpisodeVideos, rendered
from cleanrl_worker.environments.snapshots import ReplaySnapshots, snapshots_of
from mosaic.errors import WorkerError


class LoopBatch(EnvBatch):
    vectorization = "loop"

    def __init__(
        self,
        envs: Sequence[gymnasium.Env[Any, Any]],
        videos: EpisodeVideos | None = None,  # of the first environment
    ) -> None:
        first = envs[0]
        self.num_envs = len(envs)
        self.render_fps = first.metadata.get("render_fps")
        self.observation_space = first.observation_space
        self.action_space = first.action_space
        self._envs = list(envs)
        self._env_steps = [env.step for env in envs]
        self._split_actions = action_splitter(first.action_space)
        self._reports_episodes = getattr(first, "reports_episodes", False)
        self._videos = videos
        self._snapshots = [snapshots_of(env) for env in envs]
        self._recorders = [
            kept.actions.append for kept in self._snapshots if isinstance(kept, ReplaySnapshots)
        ]
        self.exactness = _worst(kept.exactness for kept in self._snapshots)
        self._shape = (self.num_envs, *(self.observation_space.shape or ()))
        self._no_flags = np.zeros(self.num_envs, dtype=np.bool_)
        self._returns = [0.0] * self.num_envs
        self._clock = 0
        self._began = [0] * self.num_envs
        self.observations = np.zeros(self._shape, self.observation_space.dtype)

    def reset(self, seed: int) -> Array:
        self.observations = np.empty(self._shape, self.observation_space.dtype)
        for index in range(self.num_envs):
            self.observations[index] = self._begin_episode(index, seed + index)
        return self.observations

    def step(self, actions: Array) -> Step:
        rows = self._split_actions(actions)
        self._clock += 1
        observations = np.empty(self._shape, self.observation_space.dtype)
        rewards = np.empty(self.num_envs, np.float32)
        terminated, truncated = self._no_flags.copy(), self._no_flags.copy()
        finals: dict[int, Array] = {}
        episodes: list[Episode] = []
        returns = self._returns
        for record, action in zip(self._recorders, rows, strict=False):
            record(action)
        for index, env_step in enumerate(self._env_steps):
            observation, reward, is_terminated, is_truncated, info = env_step(rows[index])
            observations[index] = observation
            rewards[index] = reward
            returns[index] += float(reward)  # some give np.float32, whose sums are rounded
            if is_terminated or is_truncated:
                terminated[index], truncated[index] = is_terminated, is_truncated
                finals[index] = observations[index].copy()
                self._add_episode(episodes, index, is_terminated, is_truncated, info)
                if self._videos is not None and index == 0:
                    self._videos.add_frame()
                self.before_reset(index)
                observations[index] = self._begin_episode(index, None)
        if self._videos is not None and 0 not in finals:
            self._videos.add_frame()
        self.observations = observations
        if self.view.is_due:
            self._show(rewards)
        return Step(observations, rewards, terminated, truncated, finals, episodes)

    def _add_episode(
        self,
        episodes: list[Episode],
        index: int,
        is_terminated: bool,
        is_truncated: bool,
        info: Mapping[str, Any],
    ) -> None:
        total, length = self._returns[index], self._clock - self._began[index]
        if self._reports_episodes:
            if "episode" not in info:  # a life was lost, the game continues
                return
            total, length = info["episode"]["r"], info["episode"]["l"]
        self.view.add_episode(index, float(total))
        episodes.append(
            Episode(index, float(total), int(length), bool(is_terminated), bool(is_truncated))
        )

    def _begin_episode(self, index: int, seed: int | None) -> Any:
        self._snapshots[index].before_reset(seed)
        observation, _ = self._envs[index].reset(seed=seed)
        self._returns[index] = 0.0
        self._began[index] = self._clock
        if self._videos is not None and index == 0:
            self._videos.begin_episode()
        return observation

    def state_dict(self) -> dict[str, Any]:
        return {
            "environments": [
                {
                    "observation": self.observations[index].copy(),
                    "return": float(self._returns[index]),
                    "length": self._clock - self._began[index],
                    "snapshot": kept.take(),
                }
                for index, kept in enumerate(self._snapshots)
            ],
            "video_episodes": self._videos.episodes if self._videos else 0,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        saved_envs = saved_environments(state, self.num_envs)
        self.observations = np.empty(self._shape, self.observation_space.dtype)
        for index, saved in enumerate(saved_envs):
            observation, total = np.asarray(saved["observation"]), float(saved["return"])
            if self._snapshots[index].put_back(saved["snapshot"], observation, total):
                self._returns[index] = total
                self._began[index] = self._clock - int(saved["length"])
                self.observations[index] = observation
            else:
                self.exactness = UP_TO_RESET
                self.observations[index] = self._begin_episode(index, None)
        if self._videos is not None:
            self._videos.continue_after(int(state["video_episodes"]))

    def render(self, index: int) -> Array:
        return rendered(self._envs[index])

    def close(self) -> None:
        self.view.close()
        if self._videos is not None:
            self._videos.close()
        for env in self._envs:
            env.close()


def saved_environments(state: Mapping[str, Any], num_envs: int) -> Sequence[Mapping[str, Any]]:
    """The part of a saved state that has one entry per environment. Raises WorkerError."""
    saved: Sequence[Mapping[str, Any]] = state.get("environments", ())
    if len(saved) != num_envs:
        held = f"{len(saved)} environments" if saved else "environments stepped natively"
        raise WorkerError(
            f"The checkpoint holds {held}, this run has {num_envs}",
            hint="resume with the num_envs and vectorization it was saved with",
        )
    return saved


def action_splitter(space: spaces.Space[Any]) -> Callable[[Array], Sequence[Any]]:
    """How a batch of actions becomes one action per environment; continuous ones are clipped."""
    if isinstance(space, spaces.Discrete):
        return lambda actions: actions.tolist()
    if isinstance(space, spaces.Box):
        low, high, dtype = space.low, space.high, space.dtype
        # np.clip does the same in three times the time.
        return lambda actions: list(
            np.minimum(np.maximum(actions.astype(dtype, copy=False), low), high)
        )
    return lambda actions: list(actions.copy())


def _worst(exactness: Any) -> str:
    return UP_TO_RESET if UP_TO_RESET in exactness else EXACT
