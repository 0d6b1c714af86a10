"""Recorded episodes played again, from the state of the environment's random numbers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from mosaic.contracts.replay import EpisodeStart, Moment, ReplayEnvironment
from mosaic.errors import WorkerError
from mosaic.fastlane.drawing import gl_backend

_SETTINGS = {"env_id", "env_kwargs", "bins"}
_PICTURES = "rgb_array"
_STEPS_PER_S = 4.0  # where the environment does not say: a table is followed by eye


def make_environment(settings: Mapping[str, Any]) -> ReplayEnvironment:
    """`settings` are those of a recording: what `World.make` takes."""
    if "env_id" not in settings or not settings.keys() <= _SETTINGS:
        raise WorkerError(
            "These are not the settings of a recording",
            hint="episodes whose steps were reported can be replayed, unless the run said not to",
        )
    # Libraries look for a screen when they are imported, and there may be none.
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    os.environ.setdefault("MUJOCO_GL", gl_backend() or "egl")
    from spade_bdi_rl_worker.learning.world import World

    world = World.make(
        settings["env_id"], settings.get("env_kwargs") or {}, bins=settings.get("bins")
    )
    return WorldReplay(world)


class WorldReplay:
    def __init__(self, world: Any) -> None:
        self._world = world
        self._env = world.env
        # Random numbers that are set below are followed only once there are some.
        self._env.reset(seed=0)
        self.render_fps = self._env.metadata.get("render_fps") or _STEPS_PER_S

    def begin(self, start: EpisodeStart) -> Any:
        try:
            told = json.loads(start.state) if start.state else start.details["random_state"]
            self._world.random.bit_generator.state = told
        except (ValueError, TypeError, LookupError, OverflowError) as error:
            raise WorkerError(
                f"The recorded state does not fit the environment: {error}",
                hint="was it recorded with other versions of the environment's packages?",
            ) from error
        observation, _ = self._env.reset()
        for action in start.lead_actions:
            moment = self.step(action)
            observation = moment.observation
            if moment.terminated or moment.truncated:
                observation, _ = self._env.reset()
        return observation

    def step(self, action: Any) -> Moment:
        first = int(getattr(self._env.action_space, "start", 0))
        observation, reward, terminated, truncated, _ = self._env.step(int(action) + first)
        return Moment(observation, float(reward), bool(terminated), bool(truncated))

    def picture(self) -> Any:
        """Drawn by an environment that was made without a render mode."""
        core = self._env.unwrapped
        if _PICTURES not in core.metadata.get("render_modes", ()):
            raise WorkerError("This environment draws no pictures")
        before = core.render_mode
        core.render_mode = _PICTURES
        try:
            return core.render()
        finally:
            core.render_mode = before

    def close(self) -> None:
        self._env.close()
