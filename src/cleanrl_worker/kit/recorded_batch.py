"""RecordedBatch: a batch of environments whose episodes can be simulated again."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from cleanrl_worker.environments.batch import Array, EnvBatch, Episode, Step
from cleanrl_worker.environments.denormals import are_flushed
from cleanrl_worker.environments.vectorization import LOOP, PROCESSES
from cleanrl_worker.kit.batch_recorder import BatchRecorder
from cleanrl_worker.kit.keyframes import KeyframeSchedule
from mosaic.contracts.recording_file import EpisodeEnd
from mosaic.fastlane.settings import Settings

Note = Callable[[str], None]
_ATTENTION_EVERY = 64  # steps; what is done more often has to be cheap


class RecordedBatch(EnvBatch):
    """Steps the batch inside, and notes actions, rewards and episodes. `begin` starts it.

    The batch does exactly what it would do without: keyframes are taken as checkpoints are.
    """

    def __init__(
        self, envs: EnvBatch, recorder: BatchRecorder, settings: Mapping[str, Any]
    ) -> None:
        """`settings`: arguments of `make_env_batch`, for the replay."""
        self.num_envs = envs.num_envs
        self.observation_space, self.action_space = envs.observation_space, envs.action_space
        self.vectorization, self.exactness = envs.vectorization, envs.exactness
        self.view = envs.view
        self._envs = envs
        self._take_step = envs.step
        self._recorder = recorder
        self._settings = dict(settings)
        self._given = recorder.given
        self._add: Callable[[bytes], None] = _forget
        self._due: float = math.inf
        self._begins: list[tuple[int, bool]] = []  # first step; whether it began before
        self._schedule = KeyframeSchedule(_share(envs))

    def begin(self, global_step: int, episodes: int, is_resumed: bool) -> None:
        """Record from the next step on; so many episodes are over."""
        envs = self._envs
        in_process = envs.vectorization != PROCESSES
        self._clock = self._due = global_step // self.num_envs
        self._begins = [(self._clock, is_resumed)] * self.num_envs
        settings = {
            **self._settings,
            "vectorization": envs.vectorization if in_process else LOOP,
            "flushes_denormals": in_process and are_flushed(),
        }
        self._recorder.open(
            envs.action_space,
            self.num_envs,
            self._clock,
            episodes,
            env_id=settings["env_id"],
            settings=settings,
            exactness=envs.exactness,
            is_resumed=is_resumed,
        )
        self._given = self._recorder.given
        self._add = self._recorder.rows.append

    def step(self, actions: Array) -> Step:
        if self._clock >= self._due:
            return self._attentive_step(actions)
        step = self._take_step(actions)
        self._clock += 1
        if step.episodes:
            self._add_ends(step.episodes)
        if actions.dtype is not self._given:
            actions = actions.astype(self._given)
        self._add(actions.tobytes())
        self._add(step.rewards.tobytes())
        self.observations = step.observations
        return step

    def _attentive_step(self, actions: Array) -> Step:
        recorder = self._recorder
        if recorder.is_over:
            self._due, self._add = math.inf, _forget
            return self.step(actions)
        self._due = self._clock + _ATTENTION_EVERY
        recorder.relieve()
        if self._schedule.is_due(recorder.keyframe_bytes):
            self._take_keyframe()
        started = perf_counter()
        step = self.step(actions)
        self._schedule.add(_ATTENTION_EVERY, perf_counter() - started)
        return step

    def _take_keyframe(self) -> None:
        self._schedule.restart()
        try:
            state = self._envs.state_dict()
        except Exception as error:  # noqa: BLE001 (no training shall end for it)
            self._recorder.give_up(f"its state cannot be taken: {type(error).__name__}: {error}")
        else:
            self._recorder.add_keyframe(self._clock, state)

    def _add_ends(self, episodes: Sequence[Episode]) -> None:
        if self._due == math.inf:
            return
        for slot, total, length, terminated, truncated in episodes:
            first, began_before = self._begins[slot]
            self._begins[slot] = (self._clock, False)
            self._recorder.add_end(
                EpisodeEnd(
                    slot, first, self._clock, length, total, terminated, truncated, began_before
                )
            )

    def flush(self) -> None:
        """What was done so far is in the file: a checkpoint must not be ahead of it."""
        self._recorder.flush()

    def reset(self, seed: int) -> Array:
        self.observations = self._envs.reset(seed)
        return self.observations

    def state_dict(self) -> dict[str, Any]:
        return self._envs.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._envs.load_state_dict(state)
        self.exactness, self.observations = self._envs.exactness, self._envs.observations

    def render(self, index: int) -> Array:
        return self._envs.render(index)

    def open_view(self, settings: Settings, note: Note) -> None:
        self._envs.open_view(settings, note)

    def show_paused(self, is_paused: bool) -> None:
        self._envs.show_paused(is_paused)

    def close(self) -> None:
        self._recorder.close()
        self._envs.close()


def _forget(data: bytes) -> None:
    pass


def _share(envs: EnvBatch) -> float:
    """The part of a step's duration that one environment alone would take."""
    if envs.vectorization != PROCESSES:
        return 1 / envs.num_envs
    return min(envs.num_envs, os.cpu_count() or 1) / envs.num_envs
