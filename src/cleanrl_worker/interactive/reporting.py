"""What happened in an interactive run becomes events of its journal, and its recording."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanrl_worker.interactive.player import EpisodeOver, StepTaken
from cleanrl_worker.kit.episode_log import EpisodeLog
from mosaic.worker import Run
from mosaic.worker.recording import recording_path

_LIMIT_BYTES = 1_000_000_000


class Reporting:
    """Listens to a player. Episodes that were given up are reported and recorded as well."""

    def __init__(self, run: Run[Any], log: EpisodeLog | None = None) -> None:
        self._run, self._log = run, log
        self._actions: list[Any] = []
        self._rewards: list[float] = []

    def on_step(self, step: StepTaken) -> None:
        self._run.step(
            episode_index=step.episode_index,
            step_index=step.step_index,
            action=step.action,
            observation=step.observation,
            reward=step.reward,
            terminated=step.terminated,
            truncated=step.truncated,
            episode_seed=step.episode_seed,
            info={"controller": step.controller},
        )
        if self._log is not None:
            self._actions.append(step.action)
            self._rewards.append(step.reward)

    def on_episode(self, episode: EpisodeOver) -> None:
        is_given_up = not (episode.terminated or episode.truncated)
        self._run.episode(
            episode_index=episode.episode_index,
            total_reward=episode.total_reward,
            steps=episode.steps,
            terminated=episode.terminated,
            truncated=episode.truncated,
            episode_seed=episode.episode_seed,
            metadata={"given_up": True} if is_given_up else None,
        )
        if not is_given_up:
            self._run.metric("rollout/episodic_return", episode.total_reward, self._run.steps)
            self._run.metric("rollout/episodic_length", episode.steps, self._run.steps)
        if self._log is not None:
            self._log.write(
                episode.episode_index,
                episode.episode_seed,
                self._actions,
                self._rewards,
                episode.total_reward,
                episode.terminated,
                episode.truncated,
            )
            self._actions, self._rewards = [], []


def open_log(run: Run[Any], action_space: Any, settings: Mapping[str, Any]) -> EpisodeLog | None:
    """None for a run without a folder. `settings` make the environment again."""
    path = recording_path(run)
    if path is None:
        return None
    return EpisodeLog(path, _LIMIT_BYTES, run.note, action_space, settings)
