"""Plays episodes with explicit seeds in several environments at once.

An episode's result depends on its seed alone, not on the environment that played it or on what the
others did meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.environments.live_view import LiveView
from cleanrl_worker.environments.rendering import VideoWriter
from cleanrl_worker.environments.snapshots import snapshots_of
from cleanrl_worker.kit.recording import EpisodeLog
from mosaic.errors import WorkerError

if TYPE_CHECKING:
    import gymnasium

    from cleanrl_worker.evaluation.policy import Decision

Array = NDArray[Any]


class FinishedEpisode(NamedTuple):
    number: int  # counts from 0 over the whole evaluation
    seed: int
    total_reward: float
    discounted_return: float
    length: int
    terminated: bool
    truncated: bool


class ActingPolicy(Protocol):
    def begin_episode(self, slot: int, seed: int) -> None: ...

    def decide(self, observations: Array, deterministic: bool) -> Decision: ...


class EpisodeRules(NamedTuple):
    seed: int
    gamma: float
    deterministic: bool = True
    max_steps: int | None = None


class Slot:
    """One environment and the episode it is playing."""

    def __init__(
        self,
        index: int,
        env: gymnasium.Env[Any, Any],
        rules: EpisodeRules,
        log: EpisodeLog | None = None,
    ) -> None:
        self.index = index
        self.is_playing = False
        self.last_reward = 0.0
        self._env = env
        self._rules = rules
        self._log = log
        self._actions: list[Any] = []
        self._rewards: list[float] = []
        self._values: list[float] = []
        self._snapshots = snapshots_of(env)
        self._video: VideoWriter | None = None
        self._number = 0
        self._reset_counters()

    def begin(self, number: int, video: VideoWriter | None) -> Array:
        self.is_playing = True
        self._number, self._video = number, video
        self._reset_counters()
        seed = self._rules.seed + number
        self._snapshots.before_reset(seed)  # nothing of the last episode shall reach this one
        observation, _ = self._env.reset(seed=seed)
        self._film()
        return np.asarray(observation)

    def step(self, action: Any, value: float | None = None) -> tuple[Array, FinishedEpisode | None]:
        """`value`: what is expected of the state in which the action is taken."""
        observation, reward, terminated, truncated, _ = self._env.step(action)
        self._film()
        self._length += 1
        self.last_reward = float(reward)
        self._total_reward += float(reward)
        self._discounted_return += self._discount * float(reward)
        self._discount *= self._rules.gamma
        if self._log is not None:
            self._actions.append(action)
            self._rewards.append(self.last_reward)
            if value is not None:
                self._values.append(value)
        if self._length == self._rules.max_steps and not terminated:
            truncated = True
        if not (terminated or truncated):
            return np.asarray(observation), None
        self.end()
        self._record(bool(terminated), bool(truncated))
        finished = FinishedEpisode(
            self._number,
            self._rules.seed + self._number,
            self._total_reward,
            self._discounted_return,
            self._length,
            bool(terminated),
            bool(truncated),
        )
        return np.asarray(observation), finished

    def end(self) -> None:
        self.is_playing = False
        if self._video is not None:
            self._video.close()
            self._video = None

    def _record(self, terminated: bool, truncated: bool) -> None:
        if self._log is not None:
            self._log.write(
                self._number,
                self._rules.seed + self._number,
                self._actions,
                self._rewards,
                self._total_reward,
                terminated,
                truncated,
                self._values,
            )

    def _reset_counters(self) -> None:
        self._actions, self._rewards, self._values = [], [], []
        self._total_reward, self._discounted_return, self._discount = 0.0, 0.0, 1.0
        self._length = 0

    def _film(self) -> None:
        if self._video is not None:
            self._video.add(film_frame(self._env))


def film_frame(env: gymnasium.Env[Any, Any]) -> Any:
    try:
        return env.render()
    except Exception as error:  # every renderer fails in its own way
        raise WorkerError(
            f"The environment cannot be filmed: {error}",
            hint="evaluate without videos, or on a machine without a screen set MUJOCO_GL=egl",
        ) from error


def play_episodes(
    envs: Sequence[gymnasium.Env[Any, Any]],
    policy: ActingPolicy,
    numbers: Iterable[int],
    rules: EpisodeRules,
    should_stop: Callable[[], bool],
    video_of: Callable[[int], VideoWriter | None] = lambda number: None,
    view: LiveView | None = None,
    log: EpisodeLog | None = None,
) -> Iterator[FinishedEpisode]:
    """Episodes as they end; ends early, before the next step, when asked to stop."""
    waiting = iter(numbers)
    view = view or LiveView()
    slots = [Slot(index, env, rules, log) for index, env in enumerate(envs)]
    space: Any = envs[0].observation_space
    observations = np.zeros((len(slots), *space.shape), space.dtype)

    def begin_next(slot: Slot) -> None:
        number = next(waiting, None)
        if number is not None:
            observations[slot.index] = slot.begin(number, video_of(number))
            policy.begin_episode(slot.index, rules.seed + number)

    try:
        for slot in slots:
            begin_next(slot)
        while (playing := [slot for slot in slots if slot.is_playing]) and not should_stop():
            actions, values = policy.decide(observations, rules.deterministic)
            for slot in playing:
                value = None if values is None else float(values[slot.index])
                observations[slot.index], finished = slot.step(actions[slot.index], value)
                if finished is not None:
                    view.add_episode(slot.index, finished.total_reward)
                    yield finished
                    begin_next(slot)
            view.steps += 1
            if view.is_due:
                view.show([slot.last_reward for slot in slots])
    finally:
        for slot in slots:
            slot.end()
