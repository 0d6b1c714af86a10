"""LiveWatch: which run is watched, how well that goes, and the LiveFrames that arrive from it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.tiling import Picture
from mosaic.fastlane.viewer import WAITING, SlotsView


@dataclass(frozen=True)
class Tile:
    slot: int
    picture: Picture | None
    metrics: Metrics | None
    frames: int = 0  # published so far
    pid: int = 0  # of the process that steps it


@dataclass(frozen=True)
class LiveFrames:
    """What the environments of a run look like at this moment."""

    status: str = WAITING  # a word of `mosaic.fastlane.viewer`
    message: str = ""
    tiles: tuple[Tile, ...] = ()
    slot_limit: int = 0  # environments the run has room for; 0: not known yet

    @property
    def metrics(self) -> tuple[Metrics, ...]:
        return tuple(tile.metrics for tile in self.tiles if tile.metrics is not None)

    @property
    def has_picture(self) -> bool:
        return any(tile.picture is not None for tile in self.tiles)


def live_frames_of(view: SlotsView) -> LiveFrames:
    tiles = tuple(
        Tile(slot.slot, slot.picture, slot.metrics, slot.frames, slot.pid) for slot in view.slots
    )
    return LiveFrames(view.status, view.message, tiles, view.slot_limit)


_WINDOW_S = 5.0


class LiveViewer(StrEnum):
    NOBODY = ""
    CENTRE = "centre"
    TAB = "tab"


class _Sample(NamedTuple):
    at: float
    shown: int  # pictures that arrived in the window
    published: int


class LiveWatch:
    def __init__(self) -> None:
        self.watcher = LiveViewer.NOBODY
        self.run_id = ""
        self.frames = LiveFrames()
        self._samples: deque[_Sample] = deque()
        self._shown = 0
        self._last: dict[int, int] = {}  # slot: number of the frame that arrived last
        self._dropped = 0

    def begin(self, watcher: LiveViewer, run_id: str) -> None:
        self.watcher, self.run_id = watcher, run_id
        self.frames = LiveFrames()
        self._start_counting()

    def end(self, watcher: LiveViewer) -> None:
        """Does nothing if another viewer has taken over."""
        if watcher is self.watcher:
            self.watcher = LiveViewer.NOBODY

    def is_watching(self, watcher: LiveViewer, run_id: str) -> bool:
        return (watcher, run_id) == (self.watcher, self.run_id)

    def take(self, frames: LiveFrames, now: float) -> None:
        """What has just arrived, at this moment of the monotonic clock."""
        self.frames = frames
        if any(tile.frames < self._last.get(tile.slot, 0) for tile in frames.tiles):
            self._start_counting()  # another attempt
        for tile in frames.tiles:
            new = tile.frames - self._last.get(tile.slot, tile.frames)
            if new > 0:
                self._shown += 1
                self._dropped += new - 1
            self._last[tile.slot] = tile.frames
        self._samples.append(_Sample(now, self._shown, self._shown + self._dropped))
        while len(self._samples) > 2 and self._samples[0].at < now - _WINDOW_S:
            self._samples.popleft()

    def shown_fps(self, now: float) -> float:
        """Pictures a second of an environment that reached the window, lately."""
        return self._per_second(now, lambda sample: sample.shown)

    def published_fps(self, now: float) -> float:
        """Those that the run made."""
        return self._per_second(now, lambda sample: sample.published)

    @property
    def dropped(self) -> int:
        """Pictures that were made and never arrived: a newer one was there already."""
        return self._dropped

    def _start_counting(self) -> None:
        self._samples.clear()
        self._last.clear()
        self._shown = self._dropped = 0

    def _per_second(self, now: float, count: Callable[[_Sample], int]) -> float:
        tiles = len(self.frames.tiles)
        recent = [sample for sample in self._samples if sample.at >= now - _WINDOW_S]
        if len(recent) < 2 or not tiles:
            return 0.0
        seconds = now - recent[0].at
        return (count(recent[-1]) - count(recent[0])) / seconds / tiles if seconds > 0 else 0.0
