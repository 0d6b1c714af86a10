"""Videos recorded while somebody watches: one, or clip after clip.

Clips have names by number, the newest are kept, and analytics.json lists them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from mosaic.contracts.manifest import AnalyticsManifest, read_manifest
from mosaic.contracts.run_files import RunFiles
from mosaic.errors import CorruptStoreError, MosaicError, RunStateError, WorkerError
from mosaic.fastlane.tiling import Picture
from mosaic.files import atomic_write_json
from mosaic.frames.recorder import Movie, Recorder

VIDEO_FOLDER = "videos"
MOST_FRAMES = 200
_CLIP_NAME = re.compile(r"clip-(\d{1,9})\.mp4")


def clip_name(number: int) -> str:
    return f"clip-{number:04d}.mp4"


def clip_number(name: str) -> int | None:
    match = _CLIP_NAME.fullmatch(name)
    return int(match[1]) if match else None


def next_number(names: Iterable[str]) -> int:
    return max((clip_number(name) or 0 for name in names), default=0) + 1


def clips_to_delete(names: Iterable[str], keep: int) -> list[str]:
    """All but the newest; anything but a clip is none of our business."""
    clips = sorted((number, name) for name in names if (number := clip_number(name)) is not None)
    return [name for _, name in clips[: max(0, len(clips) - max(0, keep))]]


class ClipFolder:
    """`<run>/videos`, for one recorder at a time."""

    def __init__(self, run_directory: Path, run_id: str, worker_type: str) -> None:
        self._files, self._run_id, self._worker_type = RunFiles(run_directory), run_id, worker_type
        self.path = run_directory / VIDEO_FOLDER

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
            videos = (*others, *(f"{VIDEO_FOLDER}/{name}" for name in clips))
            if videos != manifest.videos:
                changed = dataclasses.replace(manifest, videos=videos, updated_at=time.time())
                atomic_write_json(path, changed.to_dict())


def _is_clip(video: str) -> bool:
    folder, _, name = video.rpartition("/")
    return folder == VIDEO_FOLDER and clip_number(name) is not None


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


class VideoRecording(Protocol):
    def take(self, picture: Picture | None, now: float) -> bool:
        """Called at every look, with or without a new picture; True when there is enough."""

    def note(self) -> str:
        """A few words for the line below the picture."""

    def close(self) -> str:
        """Waits for the encoder; returns a sentence, raises MosaicError when it failed."""


class SingleVideo:
    """Ends after this many frames or seconds, whichever is given."""

    def __init__(
        self, recorder: Recorder, path: Path, frames: int | None, seconds: float | None
    ) -> None:
        self._recorder, self._path = recorder, path
        self._frames_limit, self._seconds_limit = frames, seconds
        self._frames = 0
        self._began: float | None = None
        recorder.begin(path)

    def take(self, picture: Picture | None, now: float) -> bool:
        if picture is not None:
            # The seconds count from the first frame: a run may take its time to show one.
            self._began = now if self._began is None else self._began
            if not self._is_over(now):
                self._frames += self._recorder.add(picture, now)
        return self._is_over(now) or self._recorder.has_died

    def _is_over(self, now: float) -> bool:
        if self._frames_limit is not None:
            return self._frames >= self._frames_limit
        return self._began is not None and now - self._began >= (self._seconds_limit or 0)

    def note(self) -> str:
        return f"recording, {self._frames} frames"

    def close(self) -> str:
        (movie,) = self._recorder.close()
        if movie.error:
            raise WorkerError(f"{self._path} could not be recorded: {movie.error}")
        if not movie.frames:
            raise WorkerError(f"There was no frame to record: {self._path} is not written")
        return f"{movie_text(movie)}{dropped_text(self._recorder.dropped)}"


class ClipSeries:
    """Continues until somebody ends it; keeps the newest."""

    def __init__(self, recorder: Recorder, folder: ClipFolder, keep: int) -> None:
        self._recorder, self._folder, self._keep = recorder, folder, keep
        self._frames = 0  # of the clip at hand
        self._next = folder.next_path()
        self._written: list[Movie] = []
        self._problem = ""

    def take(self, picture: Picture | None, now: float) -> bool:
        if picture is not None:
            if self._frames == 0:
                self._recorder.begin(self._next)
            self._frames += self._recorder.add(picture, now)
            if self._frames >= MOST_FRAMES:
                self._recorder.end()
                self._frames = 0
                self._next = self._folder.after(self._next)
        self._accept(self._recorder.done())
        return self._recorder.has_died or bool(self._problem)

    def note(self) -> str:
        return f"recording, {len(self._written)} clips"

    def close(self) -> str:
        self._accept(self._recorder.close())
        self._retain()  # an interrupt may have come between deleting clips and listing the rest
        if self._problem:
            raise WorkerError(f"Recording ended: {self._problem}")
        frames = sum(movie.frames for movie in self._written)
        clips = "1 clip" if len(self._written) == 1 else f"{len(self._written)} clips"
        text = f"{clips} with {frames} frames in {self._folder.path}"
        return text + dropped_text(self._recorder.dropped)

    def _accept(self, movies: list[Movie]) -> None:
        for movie in movies:
            if movie.error:
                self._problem = movie.error
            elif movie.frames:
                self._written.append(movie)
                self._retain()

    def _retain(self) -> None:
        try:
            self._folder.retain(self._keep)
        except (MosaicError, OSError) as error:
            self._problem = str(error)


def movie_text(movie: Movie) -> str:
    size = f"{movie.width}x{movie.height}"
    return f"{movie.path}: {movie.frames} frames of {size}, {movie.seconds:.1f} s"


def dropped_text(dropped: int) -> str:
    return f"; {dropped} frames dropped, the encoder was slower" if dropped else ""
