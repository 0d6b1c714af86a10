"""NaturalPlayer: draws a run's newest episodes ahead, and shows them at their own pace.

One thread takes from the helper process what changes from picture to picture, into a buffer, and
wakes up about once a second. Another one makes the pictures of it, each when it is due. What is
told, is told in these threads; nothing is told after `end`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import MosaicError
from mosaic.fastlane.tiling import Picture
from mosaic.gui.live.model.natural import NaturalPicture, Pacer
from mosaic.logs import get_logger
from mosaic.replay.changes import ChangingPicture
from mosaic.replay.stretches import StretchPlayer

log = get_logger(__name__)

# Drawn ahead: enough to lead up to another episode meanwhile.
_AHEAD_S = 4.0
_AHEAD_BYTES = 96 * 2**20
# Once there is so much it waits until a quarter is gone: each waking costs more than a picture.
_REFILLED_BELOW = 0.75
# With so much left to draw, the next episode is asked for.
_ASK_BEFORE_S = 2.0


class NaturalPlayer:
    def __init__(
        self,
        ask: Callable[[], None],
        show: Callable[[NaturalPicture, Picture], None],
        fail: Callable[[str], None],
    ) -> None:
        """`ask`: the newest episode is wanted, by `give`. `fail`: it cannot go on, and why."""
        self._ask, self._show, self._fail = ask, show, fail
        # Of one lock; the thread that draws waits for the first, the one that shows for the second.
        self._lock = threading.RLock()
        self._may_draw, self._may_show = (threading.Condition(self._lock) for _ in range(2))
        self._given: tuple[EpisodeRecording, EpisodeSummary] | None = None
        self._is_asked = False
        self._buffer: deque[NaturalPicture] = deque()
        self._buffer_bytes, self._buffer_s = 0, 0.0
        self._is_held = self._is_ended = False
        self._player: StretchPlayer | None = None
        self._threads = [
            threading.Thread(target=self._draw, name="mosaic-gui-drawing", daemon=True),
            threading.Thread(target=self._pace, name="mosaic-gui-pace", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def give(self, recording: EpisodeRecording, episode: EpisodeSummary) -> None:
        with self._lock:
            self._given = recording, episode
            self._may_draw.notify_all()

    def hold(self, is_held: bool) -> None:
        """While it is held, time stands still."""
        with self._lock:
            self._is_held = is_held
            self._may_show.notify_all()

    def end(self) -> None:
        """Returns at once; the helper process is killed, whatever it is doing."""
        with self._lock:
            self._is_ended = True
            self._given = None
            self._buffer.clear()  # megabytes, which a cycle would keep for long
            self._kill()
            self._may_draw.notify_all()
            self._may_show.notify_all()

    def join(self, wait_s: float) -> bool:
        """Whether its threads have ended; they will, in any case."""
        deadline = time.monotonic() + wait_s
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    @property
    def pid(self) -> int | None:
        """Of the helper process."""
        with self._lock:
            return self._player.pid if self._player is not None else None

    # Drawing

    def _draw(self) -> None:
        try:
            self._draw_episodes()
        except MosaicError as error:
            self._tell_failure(error.message)
        except Exception as error:  # noqa: BLE001 (the root of the thread: nobody is above)
            log.error("gui.natural_view_failed", error=repr(error))
            self._tell_failure(f"{type(error).__name__}: {error}")
        finally:
            self._close_player()

    def _draw_episodes(self) -> None:
        drawn = 0
        while (given := self._next()) is not None:
            recording, episode = given
            player = self._player_for(recording)
            steps = len(recording.rewards) - recording.lead
            for step in player.play(recording):
                drawn += 1
                if step.left <= _ASK_BEFORE_S * step.pace.steps_per_second:
                    self._ask_once()
                if not self._put(NaturalPicture(step, episode, steps, drawn)):
                    return

    def _next(self) -> tuple[EpisodeRecording, EpisodeSummary] | None:
        """Waits for it; None: nobody wants it any more."""
        self._ask_once()
        with self._lock:
            self._may_draw.wait_for(lambda: self._given is not None or self._is_ended)
            given, self._given = self._given, None
            self._is_asked = False
            return None if self._is_ended else given

    def _ask_once(self) -> None:
        with self._lock:
            if self._is_asked or self._is_ended:
                return
            self._is_asked = True
        self._ask()

    def _player_for(self, recording: EpisodeRecording) -> StretchPlayer:
        if self._player is not None and not self._player.fits(recording):
            self._close_player()
        return self._player or StretchPlayer(recording, begun=self._on_begun)

    def _on_begun(self, player: StretchPlayer) -> None:
        with self._lock:
            self._player = player
            if self._is_ended:
                self._kill()

    def _put(self, picture: NaturalPicture) -> bool:
        """Waits while the buffer is full; False: nobody wants it any more."""
        with self._lock:
            if not self._has_room(1.0):
                self._may_draw.wait_for(lambda: self._is_ended or self._has_room(_REFILLED_BELOW))
            if self._is_ended:
                return False
            self._buffer.append(picture)
            self._buffer_bytes += len(picture.step.change.pixels)
            self._buffer_s += picture.interval_s
            if len(self._buffer) == 1:
                self._may_show.notify_all()
            return True

    def _has_room(self, share: float) -> bool:
        """Whether less than this share of it is taken."""
        is_small = self._buffer_bytes < share * _AHEAD_BYTES
        return is_small and self._buffer_s < share * _AHEAD_S

    def _tell_failure(self, sentence: str) -> None:
        with self._lock:
            if self._is_ended:
                return
        self._fail(sentence)

    def _kill(self) -> None:
        if self._player is not None:
            with contextlib.suppress(ProcessLookupError):
                self._player.kill()

    def _close_player(self) -> None:
        with self._lock:
            player, self._player = self._player, None
        if player is not None:
            player.close()

    # Showing

    def _pace(self) -> None:
        try:
            self._show_when_due()
        except ValueError as error:
            self.end()
            self._fail(f"the simulator's pictures do not fit together: {error}")

    def _show_when_due(self) -> None:
        pacer, shown = Pacer(), ChangingPicture()
        while (picture := self._take()) is not None:
            change = picture.step.change
            shown.take(change)
            made = Picture(change.width, change.height, shown.pixels)
            delay_s = pacer.delay(time.monotonic(), picture.interval_s)
            with self._lock:
                if self._may_show.wait_for(lambda: self._is_ended, delay_s):
                    return
            self._show(picture, made)

    def _take(self) -> NaturalPicture | None:
        with self._lock:
            self._may_show.wait_for(
                lambda: self._is_ended or (bool(self._buffer) and not self._is_held)
            )
            if self._is_ended:
                return None
            picture = self._buffer.popleft()
            self._buffer_bytes -= len(picture.step.change.pixels)
            self._buffer_s -= picture.interval_s
            if self._has_room(_REFILLED_BELOW):
                self._may_draw.notify_all()
            return picture
