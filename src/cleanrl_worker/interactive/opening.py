"""What an interactive run consists of, made from its config."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from math import nan
from typing import TYPE_CHECKING, Any

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.environments.families import ATARI, family_of
from cleanrl_worker.environments.single import make_single
from cleanrl_worker.environments.snapshots import snapshots_of
from cleanrl_worker.eval_registry import find_entry
from cleanrl_worker.interactive.frames import open_frames
from cleanrl_worker.interactive.player import EpisodeOver, Player, StepTaken
from cleanrl_worker.interactive.screen import Screen
from cleanrl_worker.interactive.session import PlaySession
from cleanrl_worker.kit.recording import EpisodeLog
from mosaic.fastlane.settings import read_settings
from mosaic.worker import Run
from mosaic.worker.recording import recording_path

if TYPE_CHECKING:
    from cleanrl_worker.evaluation.detection import PolicySource


_RECORDING_LIMIT_BYTES = 1_000_000_000


DEFAULT_SEED = 1
_DEFAULT_FPS = 30.0
_ATARI_FPS = 60.0  # of the console; the environment skips some of its frames


@dataclass(frozen=True)
class OpenedPlay:
    player: Player
    session: PlaySession
    screen: Screen
    facts: Mapping[str, Any] = field(default_factory=dict)
    play: Mapping[str, Any] | None = None  # begins at once, with these fields of the command


def open_play(
    run: Run[CleanRLWorkerConfig],
    source: PolicySource | None,
    env_id: str,
    resources: ExitStack,
) -> OpenedPlay:
    config = run.config
    frames = open_frames(config.extra("frames"), run.run_id)
    if frames is not None:
        resources.callback(frames.close)
    settings: dict[str, Any] = {
        "env_id": env_id,
        "env_kwargs": _env_kwargs(config, source),
        "frame_stack": 4 if source is None else find_entry(source.algo).frame_stack,
        "training": False,
    }
    env = make_single(**settings, render_mode=None if frames is None else "rgb_array")
    resources.callback(env.close)
    policy = None
    if source is not None:
        # Only now: a person who plays alone needs no torch.
        from cleanrl_worker.evaluation.policy import load_policy

        policy = load_policy(source, env.observation_space, env.action_space)
    log = open_log(run, env.action_space, settings)
    if log is not None:
        resources.callback(log.close)
    seed = config.seed if source is None else source.seed
    player = Player(
        FreshEpisodes(env),
        policy,
        frames,
        default_seed=DEFAULT_SEED if seed is None else seed,
        is_deterministic=config.extra("eval_deterministic"),
        listener=PlayReporter(run, log),
    )
    screen = Screen(read_settings(os.environ), env, player, run.note)
    resources.callback(screen.close)
    fps = _render_fps(env, env_id, settings["env_kwargs"])
    session = PlaySession(player, screen, fps)
    return OpenedPlay(player, session, screen, {"render_fps": fps}, config.extra("play"))


class FreshEpisodes:
    """The environment, but nothing of an episode reaches the next one."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._snapshots = snapshots_of(env)
        self.action_space, self.observation_space = env.action_space, env.observation_space
        self.unwrapped = env.unwrapped
        self.step, self.render = env.step, env.render

    def reset(self, *, seed: int) -> Any:
        self._snapshots.before_reset(seed)
        return self._env.reset(seed=seed)


def _env_kwargs(config: CleanRLWorkerConfig, source: PolicySource | None) -> dict[str, Any]:
    if source is not None:
        return dict(source.env_kwargs)
    given = {**config.extras, **(config.extras.get("algo_params") or {})}
    return dict(given.get("env_kwargs") or {})


def _render_fps(env: Any, env_id: str, env_kwargs: Mapping[str, Any]) -> float:
    """How fast it is in real life."""
    if family_of(env_id).name == ATARI:
        from cleanrl_worker.wrappers.atari import FRAME_SKIP

        return _ATARI_FPS / int(env_kwargs.get("frameskip", FRAME_SKIP))
    return float(env.metadata.get("render_fps") or _DEFAULT_FPS)


class PlayReporter:
    """Turns what a player does into events of the run's journal, and into its recording.

    Episodes that were given up are reported and recorded as well.
    """

    def __init__(self, run: Run[Any], log: EpisodeLog | None = None) -> None:
        self._run, self._log = run, log
        self._actions: list[Any] = []
        self._rewards: list[float] = []
        self._values: list[float] = []  # NaN where a person acted

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
            info=_info(step),
        )
        if self._log is not None:
            self._actions.append(step.action)
            self._rewards.append(step.reward)
            self._values.append(nan if step.value is None else step.value)

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
                self._values,
            )
            self._actions, self._rewards, self._values = [], [], []


def _info(step: StepTaken) -> dict[str, Any]:
    told: dict[str, Any] = {"controller": step.controller}
    if step.value is not None:
        told["value"] = step.value
    return told


def open_log(run: Run[Any], action_space: Any, settings: Mapping[str, Any]) -> EpisodeLog | None:
    """None for a run without a folder. `settings` make the environment again."""
    path = recording_path(run)
    if path is None:
        return None
    return EpisodeLog(path, _RECORDING_LIMIT_BYTES, run.note, action_space, settings)
