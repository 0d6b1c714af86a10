"""Where a run's TensorBoard files are, and how to show them with TensorBoard's own command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from mosaic.analytics.tensorboard_reader import EVENT_FILE_MARK
from mosaic.contracts.manifest import AnalyticsManifest

EVALUATION_FOLDER = "tensorboard_eval"


class NamedLog(NamedTuple):
    name: str
    folder: Path


def tensorboard_logs(
    run_name: str, directory: Path, manifest: AnalyticsManifest, *, is_over: bool
) -> list[NamedLog]:
    """The folders of a run that hold event files, or soon will where it is still going on."""
    folders: list[Path] = []
    if manifest.tensorboard.enabled:
        # A script may write to several; the folder around them can hold others' files, too.
        listed = manifest.metadata.get("tensorboard_folders")
        paths = [str(path) for path in listed] if isinstance(listed, list) else []
        folders = [directory / path for path in paths or [manifest.tensorboard.relative_path]]
    kept = [folder for folder in folders if not is_over or has_event_files(folder)]
    evaluation = directory / EVALUATION_FOLDER
    if evaluation not in kept and has_event_files(evaluation):
        kept = [*kept, evaluation]
    return [NamedLog(_name(run_name, folder, len(kept)), folder) for folder in kept]


def has_event_files(folder: Path) -> bool:
    return any(EVENT_FILE_MARK in name for _, _, names in os.walk(folder) for name in names)


def tensorboard_command(logs: Sequence[NamedLog]) -> str:
    """A line for a shell that shows the same, without us."""
    if len(logs) == 1:
        return shlex.join(["tensorboard", "--host", "127.0.0.1", "--logdir", str(logs[0].folder)])
    # These two characters divide names and folders there.
    named = [f"{log.name.translate({44: '_', 58: '_'})}:{log.folder}" for log in logs]
    return shlex.join(["tensorboard", "--host", "127.0.0.1", "--logdir_spec", ",".join(named)])


def _name(run_name: str, folder: Path, count: int) -> str:
    if folder.name == EVALUATION_FOLDER and count > 1:
        return f"{run_name} (evaluation)"
    return run_name if count == 1 else f"{run_name} ({folder.name})"
