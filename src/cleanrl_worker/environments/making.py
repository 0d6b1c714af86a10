"""Makes the batch of environments a training runs on, stepped in the fastest correct way."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.environments.single import NO_ARGUMENTS, make_single
from cleanrl_worker.environments.vectorization import (
    NATIVE,
    NATIVE_MODULES,
    PROCESSES,
    choose_vectorization,
)


def make_env_batch(
    env_id: str,
    num_envs: int,
    *,
    env_kwargs: Mapping[str, Any] = NO_ARGUMENTS,
    vectorization: str = "auto",
    video_directory: Path | None = None,
    frame_stack: int = 4,
    training: bool = True,
) -> EnvBatch:
    """`num_envs` copies with their family's pre-processing; see `make_single` for the arguments.

    With a `video_directory` some episodes of the first one are recorded there.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    chosen = choose_vectorization(
        vectorization,
        env_id,
        num_envs,
        env_kwargs=env_kwargs,
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
        from cleanrl_worker.environments.process_batch import ProcessBatch

        return ProcessBatch(arguments, num_envs, min(num_envs, cores or 1), cores or 1)
    return _make_loop(arguments, num_envs, video_directory)


def _make_loop(
    arguments: Mapping[str, Any], num_envs: int, video_directory: Path | None
) -> EnvBatch:
    from cleanrl_worker.environments.episode_videos import EpisodeVideos
    from cleanrl_worker.environments.loop_batch import LoopBatch

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
