"""Watches: all environments of this process that have been reset, each counted once."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any

from mosaic.fastlane.lane import Lane
from mosaic.injection.bridge import Bridge
from mosaic.injection.env_watch import NO_TAP, EnvWatch
from mosaic.injection.rendering import Renderer, reason_without_view

SILENT_STEPS = 200_000
_PROGRESS_S = 1.0


class Watches:
    def __init__(self, bridge: Bridge, lane: Lane | None, note: Callable[[str], None]) -> None:
        self._bridge, self._lane, self._note = bridge, lane, note
        self.known: dict[int, EnvWatch] = {}  # by the id of the innermost environment
        self._made = 0
        self._steps_of_the_gone = self._episodes_of_the_gone = 0
        self._is_ticking = False
        self._forget_progress()
        os.register_at_fork(after_in_child=self._after_fork)

    def _forget_progress(self) -> None:
        self._seen_episodes = -1
        self._steps_at_episode = 0
        self._reported_steps, self._reported_at = 0, 0.0
        self._is_alarmed = False

    def of(self, unwrapped: Any) -> EnvWatch:
        """The watch of this environment, a new one when it is seen for the first time."""
        watch = self.known.get(id(unwrapped))
        if watch is None:
            watch = EnvWatch(self._made, self._bridge.episode)
            end = weakref.finalize(unwrapped, self._drop, id(unwrapped))
            end.atexit = False
            self.known[id(unwrapped)] = watch
            self._made += 1
        if watch.is_new:
            watch.is_new = False
            self._tap(watch, unwrapped)
        if not self._is_ticking:
            self._is_ticking = True
            self._bridge.each_tick(self._tick)
        return watch

    def close(self, unwrapped: Any) -> None:
        """Its slot is free for another one; a reset opens it again."""
        watch = self.known.get(id(unwrapped))
        if watch is not None:
            self._untap(watch)
            watch.is_new = True

    def _drop(self, key: int) -> None:
        watch = self.known.pop(key, None)
        if watch is not None:
            self._untap(watch)
            self._steps_of_the_gone += watch.all_steps
            self._episodes_of_the_gone += watch.episodes

    def _tap(self, watch: EnvWatch, unwrapped: Any) -> None:
        if self._lane is None:
            return
        reason = reason_without_view(unwrapped)
        if reason is not None:
            self._note(f"no live view of {type(unwrapped).__name__}: {reason}")
            return
        watch.tap = self._lane.tap(Renderer(unwrapped), watch.metrics) or NO_TAP

    def _untap(self, watch: EnvWatch) -> None:
        tap, watch.tap = watch.tap, NO_TAP
        if self._lane is not None and tap is not NO_TAP:
            self._lane.release(tap)

    def _tick(self, now: float, is_last: bool) -> None:
        """In the bridge's thread: how far the process is, and whether episodes end at all."""
        watches = list(self.known.values())
        steps = self._steps_of_the_gone + sum(watch.all_steps for watch in watches)
        episodes = self._episodes_of_the_gone + sum(watch.episodes for watch in watches)
        is_time = is_last or now >= self._reported_at + _PROGRESS_S
        if is_time and steps != self._reported_steps:
            self._reported_steps, self._reported_at = steps, now
            self._bridge.progress(steps)
        if episodes != self._seen_episodes:
            self._seen_episodes, self._steps_at_episode = episodes, steps
            self._is_alarmed = False
        elif steps - self._steps_at_episode >= SILENT_STEPS and not self._is_alarmed:
            self._is_alarmed = True
            self._note(f"no episode has ended for {SILENT_STEPS:,} steps")

    def _after_fork(self) -> None:
        """The parent keeps its view; here environments are seen again when they are reset."""
        self._is_ticking = False
        self._steps_of_the_gone = self._episodes_of_the_gone = 0
        self._forget_progress()
        for watch in self.known.values():
            watch.tap, watch.is_new = NO_TAP, True
