"""What an interactive run consists of, made from its config."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.environments.families import ATARI, family_of
from cleanrl_worker.environments.single import make_single
from cleanrl_worker.environments.snapshots.choice import snapshots_of
from cleanrl_worker.eval_registry import find_entry
from cleanrl_worker.interactive.frames import open_frames
from cleanrl_worker.interactive.player import Player
from cleanrl_worker.interactive.reporting import Reporting, open_log
from cleanrl_worker.interactive.screen import Screen
from cleanrl_worker.interactive.session import PlaySession
from mosaic.fastlane.settings import read_settings
from mosaic.worker import Run

if TYPE_CHECKING:
    from cleanrl_worker.evaluation.detection import PolicySource

DEFAULT_SEED = 1
_DEFAULT_FPS = 30.0
_ATARI_FPS = 60.0  # of the console; the environment skips some of its frames


@dataclass(frozen=True)
class Opened:
    player: Player
    session: PlaySession
    screen: Screen
    facts: Mapping[str, Any] = field(default_factory=dict)
    play: Mapping[str, Any] | None = None  # begins at once, with these fields of the command


def open_all(
    run: Run[CleanRLWorkerConfig],
    source: PolicySource | None,
    env_id: str,
    resources: ExitStack,
) -> Opened:
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
        from cleanrl_worker.evaluation.loading import load_policy

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
        listener=Reporting(run, log),
    )
    screen = Screen(read_settings(os.environ), env, player, run.note)
    resources.callback(screen.close)
    fps = _render_fps(env, env_id, settings["env_kwargs"])
    session = PlaySession(player, screen, fps)
    return Opened(player, session, screen, {"render_fps": fps}, config.extra("play"))


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
