"""Clips of a run: their names, which of them are kept, and their place in analytics.json."""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from mosaic.contracts.manifest import AnalyticsManifest, read_manifest
from mosaic.contracts.run_files import RunFiles
from mosaic.errors import CorruptStoreError, RunStateError
from mosaic.files import atomic_write_json

FOLDER = "videos"
MOST_FRAMES = 200
_NAME = re.compile(r"clip-(\d{1,9})\.mp4")


def clip_name(number: int) -> str:
    return f"clip-{number:04d}.mp4"


def clip_number(name: str) -> int | None:
    match = _NAME.fullmatch(name)
    return int(match[1]) if match else None


def next_number(names: Iterable[str]) -> int:
    return max((clip_number(name) or 0 for name in names), default=0) + 1


def clips_to_delete(names: Iterable[str], keep: int) -> list[str]:
    """All but the newest; what is no clip is none of our business."""
    clips = sorted((number, name) for name in names if (number := clip_number(name)) is not None)
    return [name for _, name in clips[: max(0, len(clips) - max(0, keep))]]


class ClipFolder:
    """`<run>/videos`, for one recorder at a time."""

    def __init__(self, run_directory: Path, run_id: str, worker_type: str) -> None:
        self._files, self._run_id, self._worker_type = RunFiles(run_directory), run_id, worker_type
        self.path = run_directory / FOLDER

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Raises RunStateError when another process records the same run."""
        self.path.mkdir(mode=0o700, exist_ok=True)
        with _locked(self.path, wait=False):
            yield

    def next_path(self) -> Path:
        return self.path / clip_name(next_number(self._names()))

    def after(self, path: Path) -> Path:
        """The clip after this one, which may still be in the making."""
        return self.path / clip_name((clip_number(path.name) or 0) + 1)

    def retain(self, keep: int) -> list[str]:
        """Deletes what is too much and catalogues the rest; returns the names deleted."""
        deleted = clips_to_delete(self._names(), keep)
        for name in deleted:
            (self.path / name).unlink(missing_ok=True)
        self._catalogue()
        return deleted

    def _names(self) -> list[str]:
        return [path.name for path in self.path.iterdir()]

    def _catalogue(self) -> None:
        """Raises RunStateError where the file is not what we understand: then it stays as it is."""
        # Whoever changes the file reads it first: both under one lock, that of its folder.
        with _locked(self._files.directory, wait=True):
            path = self._files.manifest
            try:
                manifest = read_manifest(path) or AnalyticsManifest(
                    self._run_id, self._worker_type, created_at=time.time()
                )
            except CorruptStoreError as error:
                raise RunStateError(
                    f"{error.message}: the clips are not listed there",
                    hint=f"they are in {self.path}",
                ) from error
            clips = sorted(name for name in self._names() if clip_number(name) is not None)
            others = [video for video in manifest.videos if not _is_clip(video)]
            videos = (*others, *(f"{FOLDER}/{name}" for name in clips))
            if videos != manifest.videos:
                changed = dataclasses.replace(manifest, videos=videos, updated_at=time.time())
                atomic_write_json(path, changed.to_dict())


def _is_clip(video: str) -> bool:
    folder, _, name = video.rpartition("/")
    return folder == FOLDER and clip_number(name) is not None


@contextlib.contextmanager
def _locked(folder: Path, wait: bool) -> Iterator[None]:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        yield
    except BlockingIOError as error:
        raise RunStateError(
            "Another `mosaic frames --record` is recording this run",
            hint="end that one first, or use --mp4",
        ) from error
    finally:
        os.close(fd)
