"""Which of the files a script left are worth cataloguing, and as what. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from pathlib import PurePosixPath
from typing import NamedTuple

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


class Kind(Enum):
    TENSORBOARD = "tensorboard"
    WANDB = "wandb"
    CHECKPOINT = "checkpoint"
    ARCHIVE = "archive"  # a checkpoint if it is one of Stable-Baselines3
    VIDEO = "video"
    STUDY = "study"  # of Optuna, if it is one


class FoundFile(NamedTuple):
    path: PurePosixPath  # absolute
    kind: Kind
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


def kind_of(name: str) -> Kind | None:
    if name.startswith("events.out.tfevents."):
        return Kind.TENSORBOARD
    suffix = PurePosixPath(name).suffix.lower()
    if name.startswith("."):
        return None  # half-written, or none of our business
    if suffix == ".wandb":
        return Kind.WANDB
    if suffix in _CHECKPOINTS:
        return Kind.CHECKPOINT
    if suffix == ".zip":
        return Kind.ARCHIVE
    if suffix in _DATABASES or suffix in _JOURNALS:
        return Kind.STUDY
    return Kind.VIDEO if suffix in _VIDEOS else None


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

    def of_kind(*kinds: Kind) -> list[FoundFile]:
        return [file for file in ordered if file.kind in kinds and file.size_bytes > 0]

    return Catalogue(
        tensorboard=_folders(of_kind(Kind.TENSORBOARD)),
        wandb=_folders(of_kind(Kind.WANDB)),
        checkpoints=tuple(of_kind(Kind.CHECKPOINT, Kind.ARCHIVE)[-MAX_FILES:]),
        videos=tuple(file.path for file in of_kind(Kind.VIDEO)[-MAX_FILES:]),
        studies=tuple(file.path for file in of_kind(Kind.STUDY)[-MAX_FILES:]),
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
