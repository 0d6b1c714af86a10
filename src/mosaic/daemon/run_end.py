"""What is kept and what goes when a run is over, and how a run is deleted for good."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from mosaic.contracts.manifest import AnalyticsManifest
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.files import atomic_write_json, read_json
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)


def apply_keep_rules(home: Home, record: RunRecord, config: TrainRunConfig) -> None:
    """`persist_logs` and `keep_checkpoints` apply to runs that succeeded; failures keep all."""
    if record.outcome is not Outcome.SUCCEEDED:
        return
    files = home.run(record.run_id)
    if not config.artifacts.persist_logs:
        shutil.rmtree(files.logs, ignore_errors=True)
        log.info("logs.removed", run_id=record.run_id)
    if not config.artifacts.keep_checkpoints:
        _remove_checkpoints(files.directory, files.manifest)
        log.info("checkpoints.removed", run_id=record.run_id)


def _remove_checkpoints(run_directory: Path, manifest_path: Path) -> None:
    data = read_json(manifest_path)
    if data is None:
        return
    manifest = AnalyticsManifest.from_dict(data)
    root = run_directory.resolve()
    for entry in manifest.checkpoints:
        target = (root / entry.path).resolve()
        # A manifest is written by the worker: it must not point us at somebody else's files.
        if target != root and target.is_relative_to(root):
            if target.is_dir():
                shutil.rmtree(target, ignore_errors=True)
            else:
                target.unlink(missing_ok=True)
    atomic_write_json(manifest_path, {**data, "checkpoints": []})


def move_to_trash(home: Home, run_id: str) -> Path | None:
    """Atomically take a run's directory out of sight; what follows may be slow or interrupted."""
    source = home.run(run_id).directory
    target = home.trash / run_id
    _remove(target)
    try:
        source.rename(target)
    except FileNotFoundError:
        return None
    return target


def empty_trash(home: Home, run_id: str) -> int:
    """Delete a trashed run and its configs; returns the bytes freed."""
    target = home.trash / run_id
    is_ours = target.is_dir() and not target.is_symlink()
    freed = sum(_size(path) for path in target.rglob("*")) if is_ours else 0
    _remove(target)
    worker_configs = home.configs.glob(f"worker-{run_id}-*.json")
    for config in (home.config(run_id), home.policy_config(run_id), *worker_configs):
        freed += _size(config)
        config.unlink(missing_ok=True)
    return freed


def _remove(target: Path) -> None:
    """Somebody may have put a link there: then the link goes, and what it points at stays."""
    if target.is_symlink():
        target.unlink()
    else:
        shutil.rmtree(target, ignore_errors=True)


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        if path.is_file() and not path.is_symlink():
            return path.stat().st_size
    return 0
