"""What is kept and what goes when a run is over."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

from mosaic.contracts.manifest import artifact_path, read_manifest
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.errors import CorruptStoreError
from mosaic.files import atomic_write_json
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
    try:
        manifest = read_manifest(manifest_path)
    except CorruptStoreError as error:
        log.warning("checkpoints.kept", reason=error.message)
        return
    if manifest is None:
        return
    for entry in manifest.checkpoints:
        # A manifest is written by the worker: it must not point us at somebody else's files.
        try:
            target = artifact_path(run_directory, entry.path, "checkpoints", may_leave=False)
        except CorruptStoreError:
            continue
        if target.is_dir() and target != run_directory.resolve():
            shutil.rmtree(target, ignore_errors=True)
        elif not target.is_dir():
            target.unlink(missing_ok=True)
    atomic_write_json(manifest_path, replace(manifest, checkpoints=()).to_dict())
