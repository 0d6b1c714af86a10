"""analytics.json: what a run left behind and what it ran on, kept up to date while it runs."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import json
import math
import os
import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol

from mosaic.contracts import worker_environment
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.manifest import (
    AgentsArtifact,
    AnalyticsManifest,
    CheckpointEntry,
    DependencyBundle,
    TensorBoardArtifact,
    WandbArtifact,
    read_manifest,
)
from mosaic.contracts.run_files import RunFiles
from mosaic.errors import CorruptStoreError
from mosaic.files import atomic_write_json
from mosaic.logs import get_logger
from mosaic.worker.json_text import to_json

log = get_logger(__name__)

# Reading, changing and writing must not interleave: threads save checkpoints, and a recorder of
# clips adds its videos from another process, under the lock of the run's folder.
_threads = threading.Lock()
_PATIENCE_S = 1.0  # no training waits longer for a recorder that was stopped with the lock
_PAUSE_S = 0.01


class HasDirectory(Protocol):
    """The part of a Run that a manifest needs."""

    run_id: str
    directory: Path | None
    capabilities: WorkerCapabilities


def write_manifest(
    run: HasDirectory,
    *,
    status: str | None = None,
    attempt: int | None = None,
    tensorboard: TensorBoardArtifact | None = None,
    wandb: WandbArtifact | None = None,
    optuna_db_path: str | None = None,
    videos: tuple[str, ...] | None = None,
    evaluation_path: str | None = None,
    agents: AgentsArtifact | None = None,
    bundle: DependencyBundle | None = None,
    other_bundles: tuple[DependencyBundle, ...] | None = None,
    notes: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> AnalyticsManifest | None:
    """Change what is given and keep the rest; does nothing for a run without a directory."""
    given: dict[str, Any] = {
        "status": status,
        "attempt": attempt,
        "tensorboard": tensorboard,
        "wandb": wandb,
        "optuna_db_path": optuna_db_path,
        "videos": videos,
        "evaluation_path": evaluation_path,
        "agents": agents,
        "bundle": bundle,
        "other_bundles": other_bundles,
        "notes": notes,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    with _changing(run.directory):
        manifest = _read(run)
        if metadata:
            changes["metadata"] = {**manifest.metadata, **metadata}
        return _write(run, dataclasses.replace(manifest, **changes))


def add_checkpoint(run: HasDirectory, entry: CheckpointEntry) -> None:
    """A checkpoint saved again under the same path replaces the older entry."""
    with _changing(run.directory):
        manifest = _read(run)
        kept = [other for other in manifest.checkpoints if other.path != entry.path]
        if entry.metric is not None and not math.isfinite(entry.metric):
            entry = dataclasses.replace(entry, metric=None)
        _write(run, dataclasses.replace(manifest, checkpoints=(*kept, entry)))


@contextlib.contextmanager
def _changing(directory: Path | None) -> Iterator[None]:
    with _threads, contextlib.ExitStack() as resources:
        if directory is not None:
            # Without the folder there is nobody to agree with yet.
            with contextlib.suppress(OSError):
                fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                resources.callback(os.close, fd)
                _lock(fd)
        yield


def _lock(fd: int) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return None
            time.sleep(_PAUSE_S)


def _read(run: HasDirectory) -> AnalyticsManifest:
    """What an earlier attempt of this run left, or an empty manifest."""
    fresh = AnalyticsManifest(
        run_id=run.run_id, worker_type=run.capabilities.worker_type, created_at=time.time()
    )
    if run.directory is None:
        return fresh
    try:
        found = read_manifest(RunFiles(run.directory).manifest) or fresh
    except CorruptStoreError as error:
        # Damaged from outside: the run itself is worth more than the old list.
        log.warning("manifest.replaced", error=error.message)
        return fresh
    return found if found.run_id == run.run_id else fresh


def _write(run: HasDirectory, manifest: AnalyticsManifest) -> AnalyticsManifest | None:
    if run.directory is None:
        return None
    path = RunFiles(run.directory).manifest
    manifest = dataclasses.replace(manifest, updated_at=time.time())
    try:
        run.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write_json(path, to_json(manifest.to_dict()))
    except OSError as error:
        # A full disk must not end a training; the next change writes the whole file again.
        log.warning("manifest.write_failed", path=str(path), error=error.strerror)
        return None
    return manifest


WORKER_GROUP = "mosaic.workers"
MAX_PACKAGES = 60
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def dependency_bundle(module: str, capabilities: WorkerCapabilities) -> DependencyBundle:
    """The distribution that brings the worker, and the versions of what it needs.

    A worker that is not installed, but only put on the path, has no distribution; the packages of
    its readiness checks are listed all the same.
    """
    owner = _distribution(module)
    names: list[str] = []
    if owner is not None:
        names = main_requirements(owner.requires or (), capabilities.worker_type)
    for check in capabilities.readiness_checks:
        kind, _, imported = check.check.partition(":")
        if kind == "import":
            names.append(imported.partition(".")[0])
    return DependencyBundle(
        distribution="" if owner is None else owner.name,
        version="" if owner is None else owner.version,
        python=sys.version.partition(" ")[0],
        packages=_versions(names),
        name=os.environ.get(worker_environment.BUNDLE, ""),
        lock_hash=os.environ.get(worker_environment.BUNDLE_LOCK, ""),
        accelerator=os.environ.get(worker_environment.BUNDLE_ACCELERATOR, ""),
        interpreter=os.environ.get(worker_environment.BUNDLE_PYTHON, sys.executable),
    )


def other_bundles() -> tuple[DependencyBundle, ...]:
    """Of the programs that are run in venvs of their own, as the daemon has placed them."""
    try:
        told = json.loads(os.environ.get(worker_environment.OTHER_BUNDLES, "[]"))
        return tuple(DependencyBundle(**entry) for entry in told)
    except (ValueError, TypeError):  # of a daemon that is newer
        return ()


def main_requirements(requirements: Iterable[str], worker_type: str) -> list[str]:
    """Names out of the extra that is called like the worker; without one, what is always needed."""
    always, own = [], []
    for requirement in requirements:
        name = _NAME.match(requirement)
        if name is None:
            continue
        extra = _EXTRA.search(requirement)
        if extra is None:
            always.append(name[1])
        elif extra[1] == worker_type:
            own.append(name[1])
    return own or always


def _distribution(module: str) -> metadata.Distribution | None:
    package = module.partition(".")[0]
    for entry in metadata.entry_points(group=WORKER_GROUP):
        if entry.value.partition(":")[0].partition(".")[0] == package and entry.dist is not None:
            return entry.dist
    return None


def _versions(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in list(dict.fromkeys(names))[:MAX_PACKAGES]:
        try:
            found[name] = metadata.version(name)
        except (metadata.PackageNotFoundError, ValueError):
            continue  # not installed, or a module that is not called like its package
    return dict(sorted(found.items()))
