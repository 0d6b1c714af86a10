"""GpuRollout: a rollout whose observations are on the GPU as soon as they have been acted upon."""

from __future__ import annotations

import torch
from torch import Tensor

from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.kit.rollout import Rollout


class GpuRollout(Rollout):
    """Acting, judging and learning share one upload; most of a rollout's bytes are observations.

    The host's side is pinned, so that the copy need not be waited for. A step's memory is written
    again a rollout later, when the GPU has long read it.
    """

    def __init__(self, num_steps: int, envs: EnvBatch, device: torch.device) -> None:
        super().__init__(num_steps, envs)
        self._pinned = torch.from_numpy(self.observations).pin_memory()
        self.observations = self._pinned.numpy()
        self._on_gpu = torch.zeros_like(self._pinned, device=device)

    def seen(self, index: int) -> Tensor:
        observations = self._on_gpu[index]
        observations.copy_(self._pinned[index], non_blocking=True)
        return observations

    def all_seen(self) -> Tensor:
        self.seen(self.steps)  # the last successors: nobody has acted upon them yet
        return self._on_gpu[: self.steps + 1].flatten(0, 1)
