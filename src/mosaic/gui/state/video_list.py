"""The videos of a run: which there are, and what is said about each."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.manifest import artifact_path
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import CorruptStoreError
from mosaic.front.human import duration, size
from mosaic.front.local_run import local_run
from mosaic.gui.state.telemetry_view import clock
from mosaic.gui.state.video_reading import VideoProbe

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
    parts = [size(video.bytes), clock(video.modified_at)]
    if probe is not None:
        parts.insert(0, duration(probe.duration_s))
    return " · ".join(parts)


def _natural(name: str) -> list[tuple[int, str]]:
    """So that episode 8 is before episode 27."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in _DIGITS.split(name)]
