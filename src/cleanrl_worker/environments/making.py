"""Makes the batch of environments a training runs on, stepped in the fastest correct way."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.environments.episode_videos import EpisodeVideos
from cleanrl_worker.environments.loop_batch import LoopBatch
from cleanrl_worker.environments.single import NO_ARGUMENTS, make_single

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
    envs=[make_single(env_id, env_kwargs=env_kwargs, frame_stack=frame_stack, training=training) for i in range(num_envs)]
    return LoopBatch(envs)
