"""Checkpoints of a training: where they are, what they say of it, and the newest that is sound."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.errors import CheckpointError, ConfigError
from spade_bdi_rl_worker.table_file import (
    SUFFIX,
    read_about,
    read_tables,
    write_tables,
)

FOLDER = "checkpoints"  # below the run's outputs
BEST = "-best"


@dataclass(frozen=True)
class Trained:
    """What a checkpoint is of."""

    algo: str
    env_id: str
    seed: int
    total_timesteps: int
    step: int
    episodes: int
    parameters: dict[str, Any] = field(default_factory=dict)  # of the learning
    env_kwargs: dict[str, Any] = field(default_factory=dict)
    bins: Any = None
    states: int = 0
    actions: int = 0
    run_id: str = ""
    lineage: dict[str, Any] | None = None

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], path: Path) -> Trained:
        """Unknown fields (of a newer worker) are ignored."""
        try:
            known = {name: data[name] for name in cls.__dataclass_fields__ if name in data}
            found = cls(**known)
        except TypeError as error:
            raise CheckpointError(
                f"The checkpoint {path.name} does not say what it is of: {error}",
                hint="take another one of the run",
            ) from error
        texts = (found.algo, found.env_id, found.run_id)
        counts = (
            *(found.step, found.episodes, found.seed),
            *(found.total_timesteps, found.states, found.actions),
        )
        is_sound = all(isinstance(text, str) for text in texts) and all(
            isinstance(count, int) and not isinstance(count, bool) for count in counts
        )
        if not is_sound or not isinstance(found.parameters, dict | None):
            raise CheckpointError(
                f"What the checkpoint {path.name} says of itself is damaged",
                hint="take another one of the run",
            )
        return found


@dataclass(frozen=True)
class Checkpoint:
    path: Path
    trained: Trained
    state: dict[str, Any]  # "learning", "statistics", "agents", "batch"

    def part(self, name: str) -> Any:
        return self.state.get(name)


def load_checkpoint(path: Path) -> Checkpoint:
    """From the file, or from the folder of its run. Raises CheckpointError."""
    path = located(path)
    state, about = read_tables(path)
    if not isinstance(about, dict) or not isinstance(state.get("learning"), dict):
        raise CheckpointError(
            f"The checkpoint {path.name} holds no tables", hint="take another one of the run"
        )
    return Checkpoint(path, Trained.from_dict(about, path), state)


def read_trained(path: Path) -> Trained:
    """What a checkpoint is of, without loading it. Needs no numpy."""
    path = located(path)
    about = read_about(path)
    return Trained.from_dict(about if isinstance(about, dict) else {}, path)


def located(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = find_checkpoint(path) or _newest(path)
    if found is None:
        raise CheckpointError(f"There is no checkpoint in {path}", hint=f"give a {SUFFIX} file")
    return found


def find_checkpoint(run_directory: Path) -> Path | None:
    """The newest of a run; None when it has none."""
    return _newest(run_directory / "outputs" / FOLDER)


def own_checkpoint(run_directory: Path) -> Checkpoint | None:
    """The newest of a run that is tried again; None when it had none yet.

    Raises CheckpointError when there is one but it is damaged: starting all over would throw away
    what may still be saved by hand.
    """
    path = find_checkpoint(run_directory)
    return None if path is None else load_checkpoint(path)


def _newest(folder: Path) -> Path | None:
    found = [
        path for path in sorted(folder.glob(f"*{SUFFIX}")) if not path.stem.endswith(BEST)
    ] or sorted(folder.glob(f"*{SUFFIX}"))
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


class CheckpointFolder:
    """Writes checkpoints of one training: the newest, and the best beside it."""

    def __init__(self, folder: Path, trained_name: str) -> None:
        self.path = folder / f"{trained_name}{SUFFIX}"
        self.best_path = folder / f"{trained_name}{BEST}{SUFFIX}"
        self.best = -math.inf

    def save(self, state: Mapping[str, Any], about: Mapping[str, Any]) -> str:
        return write_tables(self.path, state, about)

    def save_best(self, state: Mapping[str, Any], about: Mapping[str, Any], metric: float) -> str:
        """Empty unless it is better than what was best so far."""
        if not metric > self.best:
            return ""
        self.best = metric
        return write_tables(self.best_path, state, about)


def refuse_other_algorithm(trained: Trained, algo: str | None, path: Path, where: str) -> None:
    if algo is not None and trained.algo != algo:
        raise ConfigError(
            f"The checkpoint {path.name} was trained by {trained.algo}, not by {algo}",
            hint=f"train {trained.algo}, or choose another checkpoint",
            field=where,
        )
