"""The files a script leaves: found, told apart, and listed in its run's analytics.json."""

from __future__ import annotations

import os
import re
import stat
import time
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mosaic.contracts.manifest import CheckpointEntry, TensorBoardArtifact, WandbArtifact
from mosaic.watch.config import ScriptConfig
from mosaic.watch.messages import Folder
from mosaic.worker import Run, write_manifest
from mosaic.worker.analytics import add_checkpoint

MAX_FILES = 200  # of each kind; the newest are kept
MAX_FOLDERS = 50
# What the script did not write itself.
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "env"})
ENVIRONMENT_MARK = "pyvenv.cfg"  # a folder that holds this is a virtual environment

_CHECKPOINTS = (".pt", ".pth", ".ckpt", ".safetensors", ".cleanrl_model")
_VIDEOS = (".mp4", ".gif")
_DATABASES = (".db", ".sqlite", ".sqlite3")
_JOURNALS = (".journal", ".log")
# Optuna's table of this name, and what each line of its journals holds.
_STUDY_TABLE, _STUDY_OPERATION = b"study_directions", b'"op_code"'
STUDY_HEAD_BYTES = 262_144
_STEPS = re.compile(r"(\d{1,15})[_-]?steps?(?![a-z])|(?<![a-z])steps?[_=-]?(\d{1,15})", re.I)
_LAST_NUMBER = re.compile(r"[_=-](\d{1,15})$")


class ArtifactKind(Enum):
    TENSORBOARD = "tensorboard"
    WANDB = "wandb"
    CHECKPOINT = "checkpoint"
    ARCHIVE = "archive"  # a checkpoint if it is one of Stable-Baselines3
    VIDEO = "video"
    STUDY = "study"  # of Optuna, if it is one


class FoundFile(NamedTuple):
    path: PurePosixPath  # absolute
    kind: ArtifactKind
    modified_at: float
    size_bytes: int = 1


class Catalogue(NamedTuple):
    tensorboard: tuple[PurePosixPath, ...] = ()  # folders, as those of W&B
    wandb: tuple[PurePosixPath, ...] = ()
    checkpoints: tuple[FoundFile, ...] = ()  # oldest first, as they were written
    videos: tuple[PurePosixPath, ...] = ()
    studies: tuple[PurePosixPath, ...] = ()


def is_worth_entering(folder_name: str) -> bool:
    """Hidden folders belong to tools, except the one W&B may use."""
    if folder_name.startswith("."):
        return folder_name == ".wandb"
    return folder_name not in SKIPPED_FOLDERS


def kind_of(name: str) -> ArtifactKind | None:
    if name.startswith("events.out.tfevents."):
        return ArtifactKind.TENSORBOARD
    suffix = PurePosixPath(name).suffix.lower()
    if name.startswith("."):
        return None  # half-written, or none of our business
    if suffix == ".wandb":
        return ArtifactKind.WANDB
    if suffix in _CHECKPOINTS:
        return ArtifactKind.CHECKPOINT
    if suffix == ".zip":
        return ArtifactKind.ARCHIVE
    if suffix in _DATABASES or suffix in _JOURNALS:
        return ArtifactKind.STUDY
    return ArtifactKind.VIDEO if suffix in _VIDEOS else None


def is_saved_model(names: Iterable[str]) -> bool:
    """Whether an archive with these members is a model of Stable-Baselines3."""
    members = set(names)
    return "data" in members and any(name.endswith(".pth") for name in members)


def is_study(head: bytes) -> bool:
    """Whether a file that begins so is one of Optuna's: its database, or its journal."""
    if head.startswith(b"SQLite format 3\0"):
        return _STUDY_TABLE in head
    return head.startswith(b"{") and _STUDY_OPERATION in head.partition(b"\n")[0]


def catalogue(files: Iterable[FoundFile]) -> Catalogue:
    ordered = sorted(files, key=lambda file: (file.modified_at, str(file.path)))

    def of_kind(*kinds: ArtifactKind) -> list[FoundFile]:
        return [file for file in ordered if file.kind in kinds and file.size_bytes > 0]

    return Catalogue(
        tensorboard=_folders(of_kind(ArtifactKind.TENSORBOARD)),
        wandb=_folders(of_kind(ArtifactKind.WANDB)),
        checkpoints=tuple(of_kind(ArtifactKind.CHECKPOINT, ArtifactKind.ARCHIVE)[-MAX_FILES:]),
        videos=tuple(file.path for file in of_kind(ArtifactKind.VIDEO)[-MAX_FILES:]),
        studies=tuple(file.path for file in of_kind(ArtifactKind.STUDY)[-MAX_FILES:]),
    )


def step_of(path: PurePosixPath) -> int | None:
    """The step in the name of a checkpoint: 10000 of `rl_model_10000_steps.zip`."""
    if found := _STEPS.search(path.stem):
        return int(found[1] or found[2])
    found = _LAST_NUMBER.search(path.stem)
    return int(found[1]) if found else None


def common_folder(folders: Sequence[PurePosixPath]) -> PurePosixPath | None:
    """The one that shows them all; None for none, and where only the root would."""
    if not folders:
        return None
    first, *others = folders
    while any(not other.is_relative_to(first) for other in others):
        first = first.parent
    return first if len(first.parts) > 1 else folders[0]


def wandb_run(folder: PurePosixPath) -> tuple[str, str]:
    """Mode and run id of a folder such as `offline-run-20260101_120000-abc123`."""
    mode = "offline" if folder.name.startswith("offline-run-") else "online"
    return mode, folder.name.rpartition("-")[2] if "run-" in folder.name else ""


def _folders(files: list[FoundFile]) -> tuple[PurePosixPath, ...]:
    """The newest first to be kept, each once, oldest first."""
    newest = dict.fromkeys(file.path.parent for file in reversed(files))
    return tuple(reversed(list(newest)[:MAX_FOLDERS]))


MAX_DEPTH = 6
MAX_ENTRIES = 10_000
# A slow disk must not keep a run from being stopped.
MAX_SECONDS = 2.0
# File systems keep times more coarsely than clocks.
_SLACK_S = 2.0
_LARGEST_ARCHIVE = 4 * 1024**3


# -- Looking through the script's working directory for what it has written since it started


def new_files(root: Path, since: float) -> list[FoundFile]:
    """What is worth cataloguing, folders near the top first; never follows a link."""
    found = []
    deadline = time.monotonic() + MAX_SECONDS
    for entry in _walk(root, deadline):
        kind = kind_of(entry.name)
        if kind is None:
            continue
        try:
            info = entry.stat(follow_symlinks=False)
        except OSError:
            continue  # gone again
        if not stat.S_ISREG(info.st_mode) or info.st_mtime < since - _SLACK_S:
            continue
        if kind is ArtifactKind.ARCHIVE and not _is_saved_model(entry.path, info.st_size):
            continue
        if kind is ArtifactKind.STUDY and not _is_study(entry.path):
            continue
        found.append(FoundFile(PurePosixPath(entry.path), kind, info.st_mtime, info.st_size))
    return found


def _walk(root: Path, deadline: float) -> Iterator[os.DirEntry[str]]:
    """Entries that are no folders, level by level, as long as time and number allow."""
    waiting: deque[tuple[str, int]] = deque([(str(root), 0)])
    left = MAX_ENTRIES
    while waiting:
        folder, depth = waiting.popleft()
        entries = _listed(folder, left)
        left -= len(entries)
        if depth and any(entry.name == ENVIRONMENT_MARK for entry in entries):
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH and is_worth_entering(entry.name):
                    waiting.append((entry.path, depth + 1))
            else:
                yield entry
        if left <= 0 or time.monotonic() > deadline:
            return


def _listed(folder: str, limit: int) -> list[os.DirEntry[str]]:
    entries: list[os.DirEntry[str]] = []
    try:
        with os.scandir(folder) as found:
            for entry in found:
                if len(entries) == limit:
                    break
                entries.append(entry)
    except OSError:
        pass  # not ours to read, or gone
    return entries


def _is_saved_model(path: str, size_bytes: int) -> bool:
    if size_bytes > _LARGEST_ARCHIVE:
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return is_saved_model(archive.namelist())
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return False


def _is_study(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return is_study(file.read(STUDY_HEAD_BYTES))
    except OSError:
        return False


INTERVAL_S = 30.0


# -- The list


class ArtifactList:
    """Keeps the list of a script's artifacts in its run's analytics.json."""

    def __init__(self, run: Run[ScriptConfig], folder: Path) -> None:
        self._run = run
        self._folder = folder
        self._since = time.time()
        self._next_look = time.monotonic() + INTERVAL_S
        self._known = Catalogue()
        self._listed: dict[PurePosixPath, float] = {}  # checkpoints, and when they were written

    def refresh_when_due(self, named: Iterable[Folder], step: int) -> None:
        if time.monotonic() >= self._next_look:
            self.refresh(named, step)

    def refresh(self, named: Iterable[Folder], step: int) -> None:
        """`named` are folders the script's libraries told us; `step` is the newest known."""
        self._next_look = time.monotonic() + INTERVAL_S
        if self._run.directory is None:
            return
        found = _with_named(catalogue(new_files(self._folder, self._since)), named)
        if found == self._known:
            return
        self._known = found
        write_manifest(
            self._run,
            tensorboard=self._tensorboard(found),
            wandb=self._wandb(found),
            optuna_db_path=self._shown(found.studies[-1]) if found.studies else None,
            videos=tuple(map(self._shown, found.videos)),
            metadata={
                "tensorboard_folders": [self._shown(path) for path in found.tensorboard],
                "wandb_folders": [self._shown(path) for path in found.wandb],
            },
        )
        for file in found.checkpoints:
            if self._listed.get(file.path) != file.modified_at:
                self._listed[file.path] = file.modified_at
                at = step_of(file.path)
                add_checkpoint(
                    self._run,
                    CheckpointEntry(self._shown(file.path), step if at is None else at),
                )

    def _tensorboard(self, found: Catalogue) -> TensorBoardArtifact | None:
        folder = common_folder(found.tensorboard)
        return None if folder is None else TensorBoardArtifact(True, self._shown(folder))

    def _wandb(self, found: Catalogue) -> WandbArtifact | None:
        if not found.wandb:
            return None
        newest = found.wandb[-1]
        mode, run_id = wandb_run(newest)
        return WandbArtifact(
            enabled=True, mode=mode, run_id=run_id, relative_path=self._shown(newest)
        )

    def _shown(self, path: PurePosixPath) -> str:
        """Below the run's own directory it is relative, so that the directory can be moved."""
        own = self._run.directory
        return str(path if own is None or own not in Path(path).parents else path.relative_to(own))


def _with_named(found: Catalogue, named: Iterable[Folder]) -> Catalogue:
    """Together with folders that may lie anywhere; what is no folder is left out."""
    folders: dict[str, list[PurePosixPath]] = {"tensorboard": [], "wandb": []}
    for folder in named:
        if PurePosixPath(folder.path).is_absolute() and Path(folder.path).is_dir():
            folders[folder.kind].append(PurePosixPath(folder.path))
    return found._replace(
        tensorboard=tuple(dict.fromkeys((*found.tensorboard, *folders["tensorboard"]))),
        wandb=tuple(dict.fromkeys((*found.wandb, *folders["wandb"]))),
    )
