"""Looks through a script's working directory for what it has written since it started."""

from __future__ import annotations

import os
import stat
import time
import zipfile
from collections import deque
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from mosaic.watch.artifacts import (
    ENVIRONMENT_MARK,
    STUDY_HEAD_BYTES,
    FoundFile,
    Kind,
    is_saved_model,
    is_study,
    is_worth_entering,
    kind_of,
)

MAX_DEPTH = 6
MAX_ENTRIES = 10_000
# A slow disk must not keep a run from being stopped.
MAX_SECONDS = 2.0
# File systems keep times more coarsely than clocks.
_SLACK_S = 2.0
_LARGEST_ARCHIVE = 4 * 1024**3


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
        if kind is Kind.ARCHIVE and not _is_saved_model(entry.path, info.st_size):
            continue
        if kind is Kind.STUDY and not _is_study(entry.path):
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
