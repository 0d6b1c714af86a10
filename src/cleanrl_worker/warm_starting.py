"""A new training that begins with what another one has learned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleanrl_worker.kit.checkpoints import Checkpoint, load_checkpoint
from cleanrl_worker.kit.model_file import ModelFile
from cleanrl_worker.kit.normalizers import NormalizingBatch
from cleanrl_worker.kit.stateful import Stateful
from cleanrl_worker.registry import Algorithm
from cleanrl_worker.resuming import lineage_of
from mosaic.worker import ConfigError

# What belongs to the course of the old training, not to what it has learned.
_NOT_LEARNED = ("buffer", "memory", "envs")


@dataclass(frozen=True)
class WarmStart:
    checkpoint: Checkpoint
    lineage: Mapping[str, Any]

    def give(self, model: ModelFile, parts: Mapping[str, Stateful]) -> None:
        """Networks and the scale of observations; optimisers and counters begin anew."""
        model.load(self.checkpoint.weights)
        for name, part in parts.items():
            if isinstance(part, NormalizingBatch):
                part.adopt_scales(self.checkpoint.part(name))
            elif name not in _NOT_LEARNED and not name.endswith("optimizer"):
                part.load_state_dict(self.checkpoint.part(name))


def warm_start_from(path: Path, algorithm: Algorithm) -> WarmStart:
    checkpoint = load_checkpoint(path, with_replay=False)
    trained_by = str(checkpoint.description.get("algorithm"))
    if trained_by != algorithm.name:
        raise ConfigError(
            f"'extras.warm_start_path': {path.name} was trained by {trained_by}, "
            f"not by {algorithm.name}",
            hint=f"train {trained_by}, or give another checkpoint",
            field="extras.warm_start_path",
        )
    return WarmStart(checkpoint, {**lineage_of(checkpoint), "kind": "warm_start"})
