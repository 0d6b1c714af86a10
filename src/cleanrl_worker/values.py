"""What a config says: the values of an algorithm's parameters, and variables that go with them.

Imports nothing heavy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from cleanrl_worker.config import CUDA_NAMES, EVALUATE, CleanRLWorkerConfig, WorkerExtras
from mosaic.fastlane.settings import BUDGET, GRID_LIMIT, OFF, SLOT, VIDEO_MODE
from mosaic.worker import ConfigError

_WORKER_EXTRAS = frozenset(item.name for item in fields(WorkerExtras))


def values_of(config: CleanRLWorkerConfig, directory: Path | None = None) -> dict[str, Any]:
    """The parameters that are given, by name; a relative `tensorboard_dir` lies below `directory`.

    They are as the config has them; `cleanrl_worker.launcher` gives them their types.
    """
    extras = {name: value for name, value in config.extras.items() if name not in _WORKER_EXTRAS}
    values = _given(
        {
            "env_id": config.env_id,
            "total_timesteps": config.total_timesteps,
            "seed": config.seed,
            **_given({**extras, "cuda": wants_cuda(config.extras)}),
            **_given({"track": config.extras.get("track_wandb")}),
            **_given(config.extras.get("algo_params") or {}),
        }
    )
    folder = values.get("tensorboard_dir")
    if folder and isinstance(folder, str) and directory is not None:
        values["tensorboard_dir"] = str(directory / folder)
    return values


def build_environment(config: CleanRLWorkerConfig) -> dict[str, str]:
    """The variables that go with the values."""
    variables = {}
    if config.extras.get("track_wandb"):
        variables["TRACK_WANDB"] = "1"
    if email := config.extras.get("wandb_email"):
        variables["WANDB_EMAIL"] = email
    return variables


def build_live_view(config: CleanRLWorkerConfig, given: Mapping[str, str]) -> dict[str, str]:
    """The variables of the live view. Those that are `given` stay, but off is off."""
    extras = config.extras
    mode, limit = extras.get("fastlane_video_mode"), extras.get("fastlane_grid_limit")
    if config.mode == EVALUATE:
        mode, limit = extras.get("video_mode") or mode, extras.get("grid_limit") or limit
    slot, budget = extras.get("fastlane_slot"), extras.get("fastlane_budget")
    wanted = _given({VIDEO_MODE: mode, SLOT: slot, GRID_LIMIT: limit, BUDGET: budget})
    variables = {name: str(value) for name, value in wanted.items() if name not in given}
    if extras.get("fastlane_enabled") is False:
        variables[VIDEO_MODE] = OFF
    return variables


def recorded_extras(config: CleanRLWorkerConfig) -> dict[str, Any]:
    """What has no effect on the results but is kept for those who look at the run."""
    return {
        name: value
        for name, value in config.extras.items()
        if name.startswith("fastlane_") and value is not None
    }


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def wants_cuda(extras: Mapping[str, Any]) -> bool | None:
    given = {name: extras[name] for name in CUDA_NAMES if extras.get(name) is not None}
    first, *others = given.values() or [None]
    if any(other != first for other in others):
        names = " and ".join(f"extras.{name}" for name in given)
        raise ConfigError(
            f"{names} contradict each other", hint="they mean the same; give one", field="cuda"
        )
    return first
