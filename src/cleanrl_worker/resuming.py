"""Starting from a checkpoint: resuming goes on with all of it, a warm start with its networks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cleanrl_worker.arguments import Arguments, RolloutArguments
from cleanrl_worker.checkpoint_check import refuse_other_algorithm
from cleanrl_worker.kit.checkpoints.finding import find_checkpoint, locate_checkpoint, read_manifest
from cleanrl_worker.kit.checkpoints.loading import (
    Checkpoint,
    load_checkpoint,
    refuse_foreign_arguments,
    refuse_foreign_module,
)
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.checkpoints.state import Stateful
from cleanrl_worker.kit.normalizers import NormalizingBatch
from cleanrl_worker.launcher import make_arguments, restore_arguments
from cleanrl_worker.registry import Algorithm, find_algorithm
from mosaic.errors import CheckpointError
from mosaic.worker import ConfigError

# What belongs to the course of the old training, not to what it has learned.
_NOT_LEARNED = ("buffer", "memory", "envs")


@dataclass(frozen=True)
class Resumption:
    algorithm: Algorithm
    arguments: Arguments
    checkpoint: Checkpoint
    lineage: dict[str, Any]
    note: str  # how the learning rate goes on, for people; empty when nothing changes


def resume_from(path: Path, values: Mapping[str, Any], algo: str | None = None) -> Resumption:
    """The checkpoint's arguments with the given values upon them."""
    checkpoint = load_checkpoint(path)
    algorithm = _trained_by(checkpoint.description, algo)
    old = restore_arguments(algorithm, checkpoint.description.get("arguments") or {})
    if "env_id" not in values:
        refuse_foreign_module(old.env_id, path)
    if "env_kwargs" not in values:
        refuse_foreign_arguments(old.env_kwargs, path)
    new = make_arguments(algorithm, values, base=old)
    if new.env_id != old.env_id:
        raise ConfigError(
            f"'env_id': the checkpoint was trained on {old.env_id}, not on {new.env_id}",
            hint="leave env_id out, or give another checkpoint",
            field="env_id",
        )
    _check_total(checkpoint.step, old, new)
    note = schedule_note(checkpoint.step, old, new)
    return Resumption(algorithm, new, checkpoint, lineage_of(checkpoint), note)


def algorithm_of(path: Path, algo: str | None = None) -> Algorithm:
    """The algorithm that trained a checkpoint, without loading it; `algo` is what it should be."""
    return _trained_by(read_manifest(locate_checkpoint(path).state_folder).description, algo)


def _trained_by(description: Mapping[str, Any], algo: str | None) -> Algorithm:
    algorithm = find_algorithm(str(description.get("algorithm")))
    if algo not in (None, algorithm.name):
        raise ConfigError(
            f"'algo': the checkpoint was trained by {algorithm.name}, not by {algo}",
            hint="leave algo out, or give another checkpoint",
            field="algo",
        )
    return algorithm


def own_checkpoint(directory: Path) -> Checkpoint | None:
    """The newest intact checkpoint of a run that is tried again; None when it had none yet.

    Raises CheckpointError when there are some but all are damaged: starting all over would throw
    away what may still be saved by hand.
    """
    path = find_checkpoint(directory)
    if path is None:
        return None
    folder = locate_checkpoint(path).state_folder
    problem: CheckpointError | None = None
    for generation in reversed(read_manifest(folder).generations):
        if not generation.is_resumable:
            continue
        try:
            return load_checkpoint(folder, generation.step)
        except CheckpointError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return None


def lineage_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """Which training this one goes on from, and where."""
    with checkpoint.path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "parent_run": checkpoint.description.get("run_id") or run_folder(checkpoint).name,
        "parent_step": checkpoint.step,
        "checkpoint_sha256": sha256,
    }


def run_folder(checkpoint: Checkpoint) -> Path:
    """The `runs/<env>__<exp>__<seed>__<timestamp>` a checkpoint lies in."""
    folder = checkpoint.path.parent
    return folder.parent if folder.suffix == ".state" else folder


def schedule_note(step: int, old: Arguments, new: Arguments) -> str:
    """How a learning rate that falls to zero goes on when the end of the training has moved."""
    if not (isinstance(old, RolloutArguments) and isinstance(new, RolloutArguments)):
        return ""
    if not new.anneal_lr or old.total_timesteps == new.total_timesteps:
        return ""
    before, after = old.rate_at(step), new.rate_at(step)
    return (
        f"learning rate: goes on at {after:.3g} (it was {before:.3g}) and falls to 0 "
        f"at step {new.total_timesteps:,}"
    )


def _check_total(step: int, old: Arguments, new: Arguments) -> None:
    if new.total_timesteps > step:
        return
    if new.total_timesteps == old.total_timesteps:
        message = f"the training had reached its end at step {step:,}"
    else:
        message = f"the checkpoint is at step {step:,} already"
    raise ConfigError(
        f"'total_timesteps': {message}",
        hint=f"give --total-timesteps, the new total, of more than {step}",
        field="total_timesteps",
    )


@dataclass(frozen=True)
class WarmStart:
    """A new training that begins with what another one has learned."""

    checkpoint: Checkpoint
    lineage: Mapping[str, Any]

    def load_into(self, model: ModelFile, parts: Mapping[str, Stateful]) -> None:
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
    refuse_other_algorithm(trained_by, algorithm.name, path)
    return WarmStart(checkpoint, {**lineage_of(checkpoint), "kind": "warm_start"})
