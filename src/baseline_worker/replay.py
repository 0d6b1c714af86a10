"""Episodes simulated again from their seed and the actions in the step telemetry."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from baseline_worker.config import BaselineConfig
from baseline_worker.environment import begin_episode
from baseline_worker.environment import make_environment as make_gymnasium
from mosaic.contracts.events import number_from_json
from mosaic.contracts.replay import EpisodeStart, Moment, ReplayEnvironment
from mosaic.errors import WorkerError
from mosaic.fastlane.drawing import gl_backend
from mosaic.worker import build_config

_PICTURES = "rgb_array"


def make_environment(settings: Mapping[str, Any]) -> ReplayEnvironment:
    """`settings` are the config of the run."""
    config = build_config(BaselineConfig, dict(settings))
    # Libraries look for a screen when they are imported, and there may be none.
    os.environ.setdefault("MUJOCO_GL", gl_backend() or "egl")
    return SeededReplay(make_gymnasium(config))


class SeededReplay:
    def __init__(self, env: Any) -> None:
        self._env = env
        self.render_fps = env.metadata.get("render_fps")

    def begin(self, start: EpisodeStart) -> Any:
        seed = start.details.get("seed")
        if isinstance(seed, bool) or not isinstance(seed, int):
            raise WorkerError(
                f"The episode's seed is {seed!r}, which is none",
                hint="only episodes whose steps were reported with their seed can be replayed",
            )
        observation = begin_episode(self._env, seed)
        for action in start.lead_actions:
            observation = self.step(action).observation
        return observation

    def step(self, action: Any) -> Moment:
        observation, reward, terminated, truncated, _ = self._env.step(
            action_from_json(self._env.action_space, action)
        )
        return Moment(observation, float(reward), bool(terminated), bool(truncated))

    def picture(self) -> Any:
        """Drawn by an environment that was made without a render mode, as some of them do more in
        each step when they have one."""
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


def action_from_json(space: Any, value: Any) -> Any:
    """What a step of telemetry says, as the action space has it. Raises WorkerError."""
    import numpy

    try:
        match type(space).__name__:
            case "Discrete":
                return int(value)
            case "Box" | "MultiDiscrete" | "MultiBinary":
                numbers = numpy.array(_numbers(value), space.dtype)
                return numbers.reshape(space.shape)
            case "Dict":
                return {name: action_from_json(part, value[name]) for name, part in _parts(space)}
            case "Tuple":
                parts = zip(space.spaces, value, strict=True)
                return tuple(action_from_json(part, item) for part, item in parts)
            case "Text":
                return str(value)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise WorkerError(
            f"The recorded action {str(value)[:80]} is none of {space}",
            hint="was it recorded with another version of the environment?",
        ) from error
    raise WorkerError(f"Actions of the kind {type(space).__name__} cannot be replayed")


def _parts(space: Any) -> list[tuple[str, Any]]:
    return list(space.spaces.items())


def _numbers(value: Any) -> Any:
    """JSON has no NaN and no infinity: they are strings in it."""
    if isinstance(value, list | tuple):
        return [_numbers(item) for item in value]
    return number_from_json(value) if isinstance(value, str) else value
