"""LiveWatch: which run is being watched, by which part of the window, and how well that goes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from mosaic.gui.state.live_frames import LiveFrames

_WINDOW_S = 5.0


class Watcher(StrEnum):
    NOBODY = ""
    CENTRE = "centre"
    TAB = "tab"


class _Sample(NamedTuple):
    at: float
    shown: int  # pictures that arrived in the window
    published: int


class LiveWatch:
    def __init__(self) -> None:
        self.watcher = Watcher.NOBODY
        self.run_id = ""
        self.frames = LiveFrames()
        self._samples: deque[_Sample] = deque()
        self._shown = 0
        self._last: dict[int, int] = {}  # slot: number of the frame that arrived last
        self._dropped = 0

    def begin(self, watcher: Watcher, run_id: str) -> None:
        self.watcher, self.run_id = watcher, run_id
        self.frames = LiveFrames()
        self._start_counting()

    def end(self, watcher: Watcher) -> None:
        """Of whoever has been taken over from meanwhile, nothing ends."""
        if watcher is self.watcher:
            self.watcher = Watcher.NOBODY

    def is_watching(self, watcher: Watcher, run_id: str) -> bool:
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
