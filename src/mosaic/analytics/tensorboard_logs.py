"""Where a run's TensorBoard files are, and how to show them with TensorBoard's own command."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mosaic.analytics.tensorboard_reader import event_files
from mosaic.contracts.manifest import AnalyticsManifest, artifact_path

EVALUATION_FOLDER = "tensorboard_eval"


class NamedLog(NamedTuple):
    name: str
    folder: Path


def tensorboard_logs(
    run_name: str,
    directory: Path,
    manifest: AnalyticsManifest,
    *,
    is_over: bool,
    may_leave: bool,
) -> list[NamedLog]:
    """The folders of a run that hold event files, or soon will where it is still going on.

    Raises CorruptStoreError where the run names a folder outside of its own and may not.
    """

    def placed(named: str, field: str) -> Path:
        folder = artifact_path(directory, named, field, may_leave=may_leave)
        for link in () if may_leave else _links(folder):
            artifact_path(directory, str(link), field, may_leave=False)  # TensorBoard follows it
        return folder

    folders: list[Path] = []
    if manifest.tensorboard.enabled:
        # A script may write to several; the folder around them can hold others' files, too.
        listed = manifest.metadata.get("tensorboard_folders")
        paths = [str(path) for path in listed] if isinstance(listed, list) else []
        folders = [placed(path, "metadata.tensorboard_folders") for path in paths] or [
            placed(manifest.tensorboard.relative_path, "tensorboard.relative_path")
        ]
    kept = [folder for folder in folders if not is_over or has_event_files(folder)]
    evaluation = placed(EVALUATION_FOLDER, EVALUATION_FOLDER)
    if evaluation not in kept and has_event_files(evaluation):
        kept = [*kept, evaluation]
    return [NamedLog(_name(run_name, folder, len(kept)), folder) for folder in kept]


def has_event_files(folder: Path) -> bool:
    return next(event_files(folder), None) is not None


def _links(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        for path in (Path(place, name) for name in (*folders, *names)):
            if path.is_symlink():
                yield path


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
