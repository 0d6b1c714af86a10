"""Makes the batch of environments a training runs on, stepped in the fastest correct way."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.environments.families import (
    ATARI,
    BABYAI,
    BOX2D,
    DM_CONTROL,
    MINIGRID,
    MUJOCO,
    family_of,
)
from cleanrl_worker.environments.single import NO_ARGUMENTS, make_single
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

# What a step of one environment takes, in microseconds, as measured on one core. Families that are
# not here stay in this process: their ids may be registered in it alone.
_STEP_US = {BOX2D: 45, MUJOCO: 60, BABYAI: 120, MINIGRID: 120, DM_CONTROL: 250, ATARI: 440}
# What waking processes adds to a step of all environments, and how much slower an environment runs
# while all cores work; both measured on two cores, which are often the halves of one.
_WAKING_US = 200.0
_SHARED_CORE = 1.5
# Less would be lost again as soon as anything else runs on the machine.
_WORTHWHILE_GAIN = 1.5
# Threads were measured and left out: with two of them eight games of Pong ran at 0.94 and eight
# HalfCheetahs at 0.86 of the loop's speed; only eight Humanoids gained, 1.25 times.


def make_env_batch(
    env_id: str,
    num_envs: int,
    *,
    env_kwargs: Mapping[str, Any] = NO_ARGUMENTS,
    vectorization: str = "auto",
    allow_native: bool = True,
    video_directory: Path | None = None,
    frame_stack: int = 4,
    training: bool = True,
) -> EnvBatch:
    """`num_envs` copies with their family's pre-processing; see `make_single` for the arguments.

    Without `allow_native`, "auto" does not choose our own physics. With a `video_directory` some
    episodes of the first one are recorded there.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    chosen = choose_vectorization(
        vectorization,
        env_id,
        num_envs,
        env_kwargs=env_kwargs,
        allow_native=allow_native,
        has_video=video_directory is not None,
        cores=cores or 1,
    )
    if chosen == NATIVE:
        module = importlib.import_module(
            f"cleanrl_worker.environments.native.{NATIVE_MODULES[env_id]}"
        )
        batch: EnvBatch = module.BATCH(env_id, num_envs)
        return batch
    arguments: dict[str, Any] = {
        "env_id": env_id,
        "env_kwargs": dict(env_kwargs),
        "frame_stack": frame_stack,
        "training": training,
    }
    if chosen == PROCESSES:
        from cleanrl_worker.environments.processes.batch import ProcessBatch

        return ProcessBatch(arguments, num_envs, min(num_envs, cores or 1), cores or 1)
    return _make_loop(arguments, num_envs, video_directory)


def _make_loop(
    arguments: Mapping[str, Any], num_envs: int, video_directory: Path | None
) -> EnvBatch:
    from cleanrl_worker.environments.loop_batch import LoopBatch
    from cleanrl_worker.environments.rendering import EpisodeVideos

    envs = []
    try:
        first_mode = None if video_directory is None else "rgb_array"
        envs.append(make_single(**arguments, render_mode=first_mode))
        envs += [make_single(**arguments) for _ in range(num_envs - 1)]
        videos = None if video_directory is None else EpisodeVideos(envs[0], video_directory)
        return LoopBatch(envs, videos)
    except BaseException:
        for env in envs:
            env.close()
        raise


def choose_vectorization(
    wanted: str,
    env_id: str,
    num_envs: int,
    *,
    env_kwargs: Mapping[str, Any],
    has_video: bool,
    cores: int,
    allow_native: bool = True,
) -> str:
    """`wanted`, or for "auto" the fastest. Raises ConfigError when it cannot be had."""
    if wanted == AUTO:
        if has_video:
            return LOOP
        if allow_native and _native_obstacle(env_id, env_kwargs) is None:
            return NATIVE
        gain = process_gain(_STEP_US.get(family_of(env_id).name, 0), num_envs, cores)
        pays = gain >= _WORTHWHILE_GAIN and _processes_obstacle(num_envs) is None
        return PROCESSES if pays else LOOP
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


def process_gain(step_us: float, num_envs: int, cores: int) -> float:
    """How many times as fast as a loop processes are expected to be, one on each core."""
    share = math.ceil(num_envs / min(num_envs, cores))
    return num_envs * step_us / (share * step_us * _SHARED_CORE + _WAKING_US)


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
