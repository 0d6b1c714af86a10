"""analytics.json: what a run left behind, kept up to date while it runs."""

from __future__ import annotations

import dataclasses
import math
import threading
from pathlib import Path
from typing import Any, Protocol

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.manifest import (
    AnalyticsManifest,
    CheckpointEntry,
    TensorBoardArtifact,
    WandbArtifact,
)
from mosaic.contracts.run_files import RunFiles
from mosaic.files import atomic_write_json, read_json
from mosaic.logs import get_logger
from mosaic.worker.json_text import to_json

log = get_logger(__name__)

# Reading, changing and writing must not interleave when several threads save checkpoints.
_changing = threading.Lock()


class HasDirectory(Protocol):
    """The part of a Run that a manifest needs."""

    run_id: str
    directory: Path | None
    capabilities: WorkerCapabilities


def write_manifest(
    run: HasDirectory,
    *,
    tensorboard: TensorBoardArtifact | None = None,
    wandb: WandbArtifact | None = None,
    optuna_db_path: str | None = None,
    videos: tuple[str, ...] | None = None,
    notes: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> AnalyticsManifest | None:
    """Change what is given and keep the rest; does nothing for a run without a directory."""
    given: dict[str, Any] = {
        "tensorboard": tensorboard,
        "wandb": wandb,
        "optuna_db_path": optuna_db_path,
        "videos": videos,
        "notes": notes,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    with _changing:
        manifest = _read(run)
        if metadata:
            changes["metadata"] = {**manifest.metadata, **metadata}
        return _write(run, dataclasses.replace(manifest, **changes))


def add_checkpoint(run: HasDirectory, entry: CheckpointEntry) -> None:
    """A checkpoint saved again under the same path replaces the older entry."""
    with _changing:
        manifest = _read(run)
        kept = [other for other in manifest.checkpoints if other.path != entry.path]
        if entry.metric is not None and not math.isfinite(entry.metric):
            entry = dataclasses.replace(entry, metric=None)
        _write(run, dataclasses.replace(manifest, checkpoints=(*kept, entry)))


def _read(run: HasDirectory) -> AnalyticsManifest:
    """What an earlier attempt of this run left, or an empty manifest."""
    fresh = AnalyticsManifest(run_id=run.run_id, worker_type=run.capabilities.worker_type)
    if run.directory is None:
        return fresh
    try:
        data = read_json(RunFiles(run.directory).manifest)
        found = fresh if data is None else AnalyticsManifest.from_dict(data)
    except (ValueError, TypeError, AttributeError):
        return fresh  # damaged from outside: the run itself is worth more than the old list
    return found if found.run_id == run.run_id else fresh


def _write(run: HasDirectory, manifest: AnalyticsManifest) -> AnalyticsManifest | None:
    if run.directory is None:
        return None
    path = RunFiles(run.directory).manifest
    try:
        run.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write_json(path, to_json(manifest.to_dict()))
    except OSError as error:
        # A full disk must not end a training; the next change writes the whole file again.
        log.warning("manifest.write_failed", path=str(path), error=error.strerror)
        return None
    return manifest
