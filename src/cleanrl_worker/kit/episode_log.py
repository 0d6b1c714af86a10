"""EpisodeLog: records whole episodes that begin with a seed, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.environments.denormals import are_flushed
from cleanrl_worker.environments.vectorization import LOOP
from cleanrl_worker.kit.batch_recorder import action_types
from mosaic.contracts.recording_file import EpisodeEnd
from mosaic.worker.recording import RecordingFacts, RecordingWriter


class EpisodeLog:
    def __init__(
        self,
        path: Path,
        limit_bytes: int,
        note: Callable[[str], None],
        action_space: spaces.Space[Any],
        settings: Mapping[str, Any],
    ) -> None:
        """`settings`: arguments of `make_env_batch`, for the replay."""
        _, self._dtype = action_types(action_space)
        self._note = note
        shape = action_space.shape or ()
        facts = RecordingFacts(
            env_id=settings["env_id"],
            settings={**settings, "vectorization": LOOP, "flushes_denormals": are_flushed()},
            slots=1,
            action_dtype=self._dtype.str,
            action_shape=shape,
            action_bytes=self._dtype.itemsize * int(np.prod(shape, dtype=np.int64)),
        )
        self._writer = RecordingWriter(path, facts, limit_bytes)
        self._look_at_end()

    def write(
        self,
        number: int,
        seed: int,
        actions: Sequence[Any],
        rewards: Sequence[float],
        total_reward: float,
        terminated: bool,
        truncated: bool,
    ) -> None:
        if self._writer.why_ended:
            return
        length = len(actions)
        end = EpisodeEnd(0, 0, length, length, total_reward, terminated, truncated)
        self._writer.write_episode(
            number,
            end,
            {"seed": seed},
            np.array(actions, dtype=self._dtype).tobytes(),
            np.array(rewards, dtype=np.float32).tobytes(),
        )
        self._look_at_end()

    def close(self) -> None:
        self._writer.close()

    def _look_at_end(self) -> None:
        if self._writer.why_ended:
            self._note(f"episodes are not recorded any more: {self._writer.why_ended}")
