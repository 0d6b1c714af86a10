"""Where a run's TensorBoard files are, and a folder that shows some runs under their names.

TensorBoard's own way to name folders (`--logdir_spec`) knows no commas or colons in names, and
rules out its fast loader; so the folder holds one link for each log.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from mosaic.analytics.tensorboard.reader import event_files
from mosaic.contracts.manifest import AnalyticsManifest, artifact_path
from mosaic.errors import RequestError

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


MAX_NAME_BYTES = 200


class LogTree:
    """`logs` is the folder to show. Made empty; `remove` leaves nothing behind."""

    def __init__(self, parent: Path | None = None) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="mosaic-tensorboard-", dir=parent))
        self.logs = self.root / "logs"
        self.logs.mkdir()
        self._names: set[str] = set()

    def add(self, name: str, folder: Path) -> str:
        """Show a folder, which may still have to appear; returns the name it got."""
        link = self._free_place(name)
        link.symlink_to(folder.absolute(), target_is_directory=True)
        return link.name

    def new_place(self, name: str) -> Path:
        """Where a folder of that name may be made, for logs that are only made to be shown."""
        return self._free_place(name)

    def remove(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def names(self) -> list[str]:
        return sorted(self._names)

    def _free_place(self, name: str) -> Path:
        chosen = free_name(name, self._names)
        self._names.add(chosen)
        return self.logs / chosen


def free_name(name: str, taken: Collection[str]) -> str:
    """The name as far as a file can have it; with a number where it is taken already."""
    plain = "".join("_" if c in "/\\\0" or not c.isprintable() else c for c in name).strip(" .")
    plain = plain.encode()[:MAX_NAME_BYTES].decode(errors="ignore") or "run"
    # File systems of other machines do not tell upper from lower case.
    lowered = {one.casefold() for one in taken}
    for number in range(1, len(taken) + 2):
        candidate = plain if number == 1 else f"{plain} ({number})"
        if candidate.casefold() not in lowered:
            return candidate
    raise RequestError(f"There is no free name left for {name!r}")
