"""The videos of a run: which there are, how PyAV reads them, and where in one its player is."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.manifest import artifact_path
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import CorruptStoreError, DependencyError, StoreError
from mosaic.fastlane.tiling import Picture
from mosaic.foreign.files import open_regular
from mosaic.front.human import duration, size
from mosaic.front.references import local_run
from mosaic.gui.tabs.model import time_of_day

# Larger pictures are shrunk while they are decoded: the panel is no cinema.
_MOST_WIDTH = 960
THUMBNAIL_WIDTH = 96
_FORMATS = {
    ".mp4": "mov",
    ".m4v": "mov",
    ".mov": "mov",
    ".gif": "gif",
    ".webm": "matroska",
    ".mkv": "matroska",
    ".avi": "avi",
}
# A picture of a few bytes can claim gigabytes of pixels.
_OPTIONS = {"max_pixels": str(64 * 2**20)}


@dataclass(frozen=True)
class VideoFrame:
    at_s: float
    picture: Picture


@dataclass(frozen=True)
class VideoProbe:
    duration_s: float
    width: int
    height: int
    thumbnail: Picture


class VideoReader:
    """Reads a video with PyAV, in any thread but one at a time. Every call blocks."""

    def __init__(self, path: Path) -> None:
        """Raises DependencyError without PyAV, StoreError for what is no whole video."""
        self.path = path
        self._lock = threading.Lock()
        self._is_closed = False
        with _readable_errors(path):
            # By descriptor and as the one format its name says: a playlist that calls itself a
            # video would lead to other files.
            self._file = os.fdopen(open_regular(path), "rb")
            try:
                self._container: Any = _pyav().open(
                    self._file, format=_format(path), options=_OPTIONS
                )
            except BaseException:
                self._file.close()
                raise
            try:
                self._stream = self._container.streams.video[0]
                self._stream.thread_type = "AUTO"
                self.duration_s = self._length()
                self.size = (self._stream.width, self._stream.height)
            except BaseException:
                self._container.close()
                self._file.close()
                raise
        self._frames: Iterator[Any] = self._container.decode(self._stream)

    def read(self, most: int, width: int = _MOST_WIDTH) -> list[VideoFrame]:
        """The next frames; none at the end, and none after `close`."""
        with self._lock, _readable_errors(self.path):
            return self._next(most, width)

    def read_from(self, at_s: float, most: int) -> list[VideoFrame]:
        """From the frame on that is seen at that time; none after `close`."""
        with self._lock, _readable_errors(self.path):
            if self._is_closed:
                return []
            ticks = int(max(0.0, at_s) / self._stream.time_base)
            self._container.seek(ticks, stream=self._stream)  # the key frame before it
            self._frames = self._container.decode(self._stream)
            last = None
            for frame in self._frames:
                if float(frame.time or 0.0) > at_s + 1e-6:
                    following = [last, frame] if last is not None else [frame]
                    break
                last = frame
            else:
                following = [last] if last is not None else []
            found = [VideoFrame(float(one.time or 0.0), _picture(one)) for one in following]
            # Without letting go of the lock: it would crash to read what was closed in between.
            return found + self._next(most - len(found), _MOST_WIDTH)

    def close(self) -> None:
        """Waits for whoever is reading; who comes later is given nothing."""
        with self._lock:
            self._is_closed = True
            self._container.close()
            self._file.close()

    def _next(self, most: int, width: int) -> list[VideoFrame]:
        found: list[VideoFrame] = []
        if most <= 0 or self._is_closed:
            return found
        for frame in self._frames:
            found.append(VideoFrame(float(frame.time or 0.0), _picture(frame, width)))
            if len(found) >= most:
                break
        return found

    def _length(self) -> float:
        stream = self._stream
        if stream.duration is not None:
            return float(stream.duration * stream.time_base)
        return float(self._container.duration or 0) / 1_000_000


def probe(path: Path) -> VideoProbe:
    """How long it is, and its first picture, small."""
    reader = VideoReader(path)
    try:
        frames = reader.read(1, THUMBNAIL_WIDTH)
        if not frames:
            raise damaged(path)
        return VideoProbe(reader.duration_s, *reader.size, frames[0].picture)
    finally:
        reader.close()


def _format(path: Path) -> str:
    try:
        return _FORMATS[path.suffix.lower()]
    except KeyError:
        raise ValueError(f"no video is called {path.suffix}") from None


def damaged(path: Path) -> StoreError:
    return StoreError(
        f"{path.name} cannot be played: it is damaged, or not finished yet",
        hint="a run that goes on finishes its video with the episode",
        path=str(path),
    )


@contextmanager
def _readable_errors(path: Path) -> Iterator[None]:
    """Turns what PyAV raises into what people can read."""
    av = _pyav()
    try:
        yield
    except FileNotFoundError as error:
        raise StoreError(f"{path.name} is gone", hint="it was moved or deleted") from error
    except (av.FFmpegError, OSError, ValueError, IndexError, EOFError, MemoryError) as error:
        raise damaged(path) from error


def _pyav() -> Any:
    try:
        import av
    except ImportError as error:
        raise DependencyError(
            "To play videos here, the package PyAV is needed, which is not installed",
            hint='pip install "mosaic-rl[video]"',
        ) from error
    return av


def _picture(frame: Any, width: int = _MOST_WIDTH) -> Picture:
    if frame.width > width:
        height = max(1, round(frame.height * width / frame.width))
        frame = frame.reformat(width=width, height=height, format="rgb24")
    pixels = frame.to_ndarray(format="rgb24")
    return Picture(pixels.shape[1], pixels.shape[0], pixels.tobytes())


_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True)
class VideoFile:
    path: Path
    bytes: int
    modified_at: float

    @property
    def title(self) -> str:
        """`episode-27.mp4` is "Episode 27"."""
        words = re.sub(r"[-_]+", " ", self.path.stem).strip() or self.path.name
        return words[:1].upper() + words[1:]


def list_videos(record: RunRecord) -> list[VideoFile]:
    """Newest first. Only files inside the run's folder: a manifest may come from anywhere."""
    directory = local_run(record).directory
    listed = record.manifest.get("videos")
    found = []
    for name in listed if isinstance(listed, list | tuple) else ():
        try:
            path = artifact_path(directory, str(name), "videos", may_leave=False)
            status = path.stat()
        except (CorruptStoreError, OSError):
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        found.append(VideoFile(path, status.st_size, status.st_mtime))
    found.sort(key=lambda video: _natural(video.path.name), reverse=True)
    found.sort(key=lambda video: video.modified_at, reverse=True)
    return found


def caption(video: VideoFile, probe: VideoProbe | None, problem: str = "") -> str:
    """The second line of an entry."""
    if problem:
        return problem
    parts = [size(video.bytes), time_of_day(video.modified_at)]
    if probe is not None:
        parts.insert(0, duration(probe.duration_s))
    return " · ".join(parts)


def _natural(name: str) -> list[tuple[int, str]]:
    """So that episode 8 is before episode 27."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name)]


SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0)


class Playback:
    """Where in a video one is, by the clock. Pure."""

    def __init__(self, duration_s: float = 0.0) -> None:
        self.duration_s = duration_s
        self.is_playing = False
        self.is_looping = False
        self.speed = 1.0
        self._position_s = 0.0
        self._since: float | None = None  # when the position was that

    @property
    def position_s(self) -> float:
        return self._position_s

    def play(self, now: float) -> bool:
        """Whether it starts from the beginning because it was at the end."""
        is_again = self._position_s >= self.duration_s
        if is_again:
            self._position_s = 0.0
        self.is_playing, self._since = True, now
        return is_again

    def pause(self) -> None:
        self.is_playing, self._since = False, None

    def seek(self, position_s: float, now: float) -> None:
        self._position_s = min(max(0.0, position_s), self.duration_s)
        self._since = now if self.is_playing else None

    def advance(self, now: float) -> bool:
        """Continues to this moment; whether the end was passed and it begins again."""
        if not self.is_playing or self._since is None:
            return False
        self._position_s += (now - self._since) * self.speed
        self._since = now
        if self._position_s < self.duration_s:
            return False
        if self.is_looping:
            self._position_s = 0.0
            return True
        self._position_s = self.duration_s
        self.pause()
        return False


def time_text(seconds: float) -> str:
    """`0:07`, `12:30`."""
    whole = int(max(0.0, seconds))
    return f"{whole // 60}:{whole % 60:02d}"
