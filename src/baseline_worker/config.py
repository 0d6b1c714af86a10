"""What the baseline worker can be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mosaic.worker import ConfigError, option


@dataclass(frozen=True)
class BaselineConfig:
    env_id: str = option(help="Gymnasium environment, for example CartPole-v1", editor="env_id")
    policy: Literal["random", "noop", "heuristic"] = option(
        "random",
        help="random actions, no action at all, or a scripted policy for this environment",
        section="",
        order=1,
        choice_help={
            "random": "random actions",
            "noop": "no action at all",
            "heuristic": "a scripted policy for this environment",
        },
    )
    seed: int = option(
        0,
        help="episode n starts with seed + n, so each one can be repeated",
        minimum=0,
        section="",
        order=2,
    )
    total_timesteps: int | None = option(
        None,
        help="end after this many environment steps",
        minimum=1,
        section="",
        order=3,
        placeholder="no limit",
    )
    episodes: int | None = option(
        None,
        help="end after this many episodes",
        minimum=1,
        section="",
        order=4,
        placeholder="no limit",
    )
    env_kwargs: Mapping[str, Any] = option(
        dict,
        help="further arguments of the environment",
        title="Environment arguments",
        section="Settings",
        order=3,
    )
    max_steps_per_second: float = option(
        0.0,
        help="slow down to watch; 0 is as fast as possible",
        minimum=0,
        title="Most steps per second",
        section="Settings",
        order=1,
    )
    step_telemetry: bool = option(
        True, help="report every single step", title="Report steps", section="Settings", order=2
    )
    run_id: str | None = option(None, help="set by MOSAIC")
    worker_id: str | None = option(None, help="set by MOSAIC")
    agent_id: str | None = option(None, help="set by MOSAIC")

    def __post_init__(self) -> None:
        if self.total_timesteps is None and self.episodes is None:
            raise ConfigError(
                "Invalid BaselineConfig: 'episodes' or 'total_timesteps' is required",
                hint="say where the run ends, for example episodes=10",
                field="episodes",
            )
        if "render_mode" in self.env_kwargs:
            raise ConfigError(
                "Invalid BaselineConfig: 'env_kwargs.render_mode' cannot be set",
                hint="this worker opens no window; leave it out",
                field="env_kwargs.render_mode",
            )
