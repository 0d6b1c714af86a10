"""Decides how the environments of a training are stepped, without importing any of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cleanrl_worker.environments.families import ATARI, DM_CONTROL, family_of
from mosaic.errors import ConfigError

AUTO, NATIVE, LOOP, PROCESSES = "auto", "native", "loop", "processes"

# Gymnasium's physics in plain floats: the same trajectories, bit for bit, several times as fast.
# Only for these versions with their default arguments.
NATIVE_MODULES = {
    "Acrobot-v1": "acrobot",
    "CartPole-v0": "cart_pole",
    "CartPole-v1": "cart_pole",
    "MountainCar-v0": "mountain_car",
    "MountainCarContinuous-v0": "mountain_car_continuous",
    "Pendulum-v1": "pendulum",
}

# From how many environments on processes pay, where there are several cores. A step through
# processes costs about 0.1 ms more, so that the environments' own time must be well beyond it.
# Threads were measured and left out: with two of them eight games of Pong ran at 0.94 and eight
# HalfCheetahs at 0.86 of the loop's speed, since both hold the interpreter's lock most of the time.
PROCESSES_PAY_FROM = {
    ATARI: 4,  # about 0.4 ms a step
    DM_CONTROL: 4,  # 0.2 to 2 ms a step
}


def choose_vectorization(
    wanted: str,
    env_id: str,
    num_envs: int,
    *,
    env_kwargs: Mapping[str, Any],
    has_video: bool,
    cores: int,
) -> str:
    """`wanted`, or for "auto" the fastest. Raises ConfigError when it cannot be had."""
    if wanted == AUTO:
        if has_video:
            return LOOP
        if _native_obstacle(env_id, env_kwargs) is None:
            return NATIVE
        pays_from = PROCESSES_PAY_FROM.get(family_of(env_id).name, num_envs + 1)
        pays = num_envs >= pays_from and cores > 1
        return PROCESSES if pays and _processes_obstacle(num_envs) is None else LOOP
    obstacle: str | None
    match wanted:
        case "loop":
            obstacle = None
        case "native":
            obstacle = _native_obstacle(env_id, env_kwargs)
        case "processes":
            obstacle = _processes_obstacle(num_envs)
        case _:
            obstacle = "there is no such way"
    if obstacle is None and has_video and wanted != LOOP:
        obstacle = "videos are recorded in the training's own process"
    if obstacle is None:
        return wanted
    raise ConfigError(
        f"'vectorization': {env_id} cannot be stepped by {wanted!r}: {obstacle}",
        hint="auto takes the fastest way there is; loop always works",
        field="vectorization",
    )


def _native_obstacle(env_id: str, env_kwargs: Mapping[str, Any]) -> str | None:
    if env_id not in NATIVE_MODULES:
        return f"only {', '.join(NATIVE_MODULES)} are built in"
    if env_kwargs:
        return "the built-in physics take no env_kwargs"
    return None


def _processes_obstacle(num_envs: int) -> str | None:
    if num_envs < 2:
        return "there is only one environment"
    if not hasattr(os, "memfd_create"):
        return "this system has no memory without a name"
    return None
