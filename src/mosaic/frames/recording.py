"""What is recorded while somebody watches: one video, or clip after clip."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from mosaic.errors import MosaicError, WorkerError
from mosaic.fastlane.tiling import Picture
from mosaic.frames.clips import MOST_FRAMES, ClipFolder
from mosaic.frames.recorder import Movie, Recorder


class Recording(Protocol):
    def take(self, picture: Picture | None, now: float) -> bool:
        """Called at every look, with or without a new picture; True when there is enough."""

    def note(self) -> str:
        """A few words for the line below the picture."""

    def close(self) -> str:
        """Waits for the encoder; returns a sentence, raises MosaicError when it failed."""


class OneMovie:
    """Ends after so many frames or seconds, whichever is given."""

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


class Clips:
    """Goes on until somebody ends it; keeps the newest."""

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
