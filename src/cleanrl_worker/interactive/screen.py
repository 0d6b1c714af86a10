"""Screen: what a played environment looks like, for whoever watches the run."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from cleanrl_worker.environments.rendering import rendered
from cleanrl_worker.interactive.player import Player
from mosaic.fastlane.lane import Lane
from mosaic.fastlane.layout import HUMAN_ACTS, OVER, PAUSED
from mosaic.fastlane.settings import SINGLE, Settings
from mosaic.fastlane.slot_writer import Metrics

# More often nobody sees it.
_SHORTEST_S = 1 / 65
# So often the numbers are told while nothing moves, or viewers would take it for stalled.
_TELL_S = 2.0
_MAX_DIM = 800


class Screen:
    """Shows every step, watched or not: a person who plays waits for the picture."""

    def __init__(
        self,
        settings: Settings,
        env: Any,
        player: Player,
        note: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.problem = "" if settings.is_on else "the live view of this run is turned off"
        self.is_paused = False
        self.is_human = True
        self._player, self._note, self._clock = player, note, clock
        self._shown_at = self._told_at = float("-inf")
        self._is_stale = False
        self._lane: Lane | None = None
        self._tap = None
        if settings.is_on:
            size = max(settings.max_dim, _MAX_DIM)
            wide = settings._replace(
                mode=SINGLE,
                slot=0,
                interval_s=0.0,
                budget=1.0,
                max_dim=size,
            )
            self._lane = Lane(wide, self._fail)
            self._tap = self._lane.tap(partial(rendered, env), self._metrics)

    def show(self) -> None:
        """Something is new. Shown at once, or with `refresh` where the last was just shown."""
        self._is_stale = True
        self.refresh()

    def refresh(self) -> None:
        now = self._clock()
        if self._tap is None or self._tap.is_broken:
            return
        if self._is_stale and now - self._shown_at >= _SHORTEST_S:
            self._is_stale = False
            self._shown_at = self._told_at = now
            self._tap.show()
        elif now - self._told_at >= _TELL_S:
            self.tell()

    def tell(self) -> None:
        """Only the numbers changed, or who acts."""
        self._told_at = self._clock()
        if self._tap is not None:
            self._tap.tell()

    def show_paused(self, is_paused: bool) -> None:
        self.is_paused = is_paused
        self.show()
        self.tell()

    @property
    def due_in_s(self) -> float | None:
        """Until a picture that could not be shown yet is due."""
        if not self._is_stale or self._tap is None or self._tap.is_broken:
            return None
        return max(0.0, self._shown_at + _SHORTEST_S - self._clock())

    def close(self) -> None:
        if self._lane is not None:
            self._lane.close()

    def _fail(self, text: str) -> None:
        self.problem = text
        self._note(text)

    def _metrics(self) -> Metrics:
        player = self._player
        flags = (
            (PAUSED if self.is_paused else 0)
            | (HUMAN_ACTS if self.is_human else 0)
            | (0 if player.is_running else OVER)
        )
        return Metrics(
            steps=player.step_index,
            episodes=max(player.episode, 0),
            last_reward=player.last_reward,
            rolling_return=player.episode_reward,
            flags=flags,
        )
