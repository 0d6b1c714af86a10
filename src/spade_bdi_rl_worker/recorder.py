"""Records what was done in the episodes whose steps are reported, so that they can be replayed.

A stretch begins where an episode does, with the state of the environment's random numbers, and
goes on as long as every step is reported: whoever replays an episode draws the same numbers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.contracts.recording_file import EpisodeEnd
from mosaic.worker.recording import RecordingFacts, RecordingWriter

if TYPE_CHECKING:
    from spade_bdi_rl_worker.learning.pursuits import Steps
    from spade_bdi_rl_worker.learning.world import World

EXACTNESS = "exact"
KEYFRAME_STEPS = 2_000
_MEGABYTE = 1_000_000
_SLOT = 0


class EpisodeRecorder:
    """Bounded; where the disk refuses it ends and says why, and the training goes on."""

    def __init__(self, path: Path, world: World, limit_mb: int, is_resumed: bool) -> None:
        self._world = world
        self._dtype = "<u2" if world.n_actions > 256 else "|u1"
        facts = RecordingFacts(
            env_id=world.env_id,
            settings=world.describe(),
            slots=1,
            action_dtype=self._dtype,
            action_shape=(),
            action_bytes=int(self._dtype[-1]),
            reward_dtype="<f8",
            exactness=EXACTNESS,
            is_resumed=is_resumed,
        )
        self._writer = RecordingWriter(path, facts, limit_mb * _MEGABYTE)
        self._next_step = -1  # of the stretch; -1: none
        self._first_step = 0  # of the episode under way
        self._total = 0.0
        self._keyframe_at = 0

    @property
    def why_ended(self) -> str:
        return self._writer.why_ended

    def begin(self, step: int, in_episode: bool) -> None:
        """Steps from this one on are given to `add`. Mid-episode only where they follow."""
        if self._next_step == step:
            if not in_episode and step - self._keyframe_at >= KEYFRAME_STEPS:
                self._write_keyframe(step)
            return
        self._next_step = -1
        if not in_episode:
            self._next_step = self._first_step = step
            self._total = 0.0
            self._write_keyframe(step)

    def add(self, steps: Steps) -> None:
        from spade_bdi_rl_worker.learning import kernels

        if self._next_step < 0 or self._writer.why_ended or not len(steps):
            return
        first = self._next_step
        flags = steps.integers[:, kernels.R_FLAGS]
        rewards = steps.reals[:, kernels.R_REWARD]
        ends, first_episode = [], int(steps.integers[0, kernels.R_EPISODE])
        begin = 0
        is_end = (flags & (kernels.TERMINATED | kernels.TRUNCATED)) > 0
        for place in is_end.nonzero()[0].tolist():
            # One by one, as whoever replays it adds them up.
            for reward in rewards[begin : place + 1].tolist():
                self._total += reward
            after = first + place + 1
            ends.append(
                EpisodeEnd(
                    _SLOT,
                    self._first_step,
                    after,
                    after - self._first_step,
                    self._total,
                    bool(flags[place] & kernels.TERMINATED),
                    bool(flags[place] & kernels.TRUNCATED),
                )
            )
            self._first_step, self._total, begin = after, 0.0, place + 1
        for reward in rewards[begin:].tolist():
            self._total += reward
        self._writer.write_steps(
            first,
            len(steps),
            steps.integers[:, kernels.R_ACTION].astype(self._dtype).tobytes(),
            rewards.astype("<f8").tobytes(),
            first_episode,
            ends,
        )
        self._next_step = first + len(steps)

    def close(self) -> None:
        self._writer.close()

    def _write_keyframe(self, step: int) -> None:
        self._keyframe_at = step
        state: Any = self._world.random.bit_generator.state
        self._writer.write_keyframe(step, [json.dumps(state).encode()])
