"""NaturalReader: watches a run at natural speed; what it shows arrives in the window's thread."""

from __future__ import annotations

import threading
import time
from functools import partial

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import MosaicError, TrainerUnreachableError
from mosaic.fastlane.tiling import Picture
from mosaic.fastlane.viewer import LIVE
from mosaic.gui.live.frame_reader import Tap
from mosaic.gui.live.model.natural import EpisodeSearch, NaturalPicture
from mosaic.gui.live.natural_player import NaturalPlayer
from mosaic.gui.services.async_bridge import AsyncBridge, Task
from mosaic.gui.state.live_watch import LiveFrames, Tile

_AGAIN_MS = 250
# A helper that is killed is gone in a moment; the window waits no longer for it.
_JOIN_S = 1.0
_NEEDS_CONSENT = "somebody has to allow first what it would run; Replay shows it and asks"


class NaturalReader(QObject):
    """However slow the window is, at most one picture waits for it: the newest."""

    arrived = Signal(object)  # LiveFrames
    failed = Signal(str)  # why it cannot go on
    _ready = Signal()
    _asked = Signal()
    _broke = Signal(str)

    def __init__(self, run_id: str, bridge: AsyncBridge, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._run_id, self._bridge = run_id, bridge
        self.shown: NaturalPicture | None = None
        self._search = EpisodeSearch()
        self._asking: Task | None = None
        self._is_stopped = False
        self._changed = threading.Lock()
        self._waiting: tuple[NaturalPicture, Picture] | None = None  # for the window's thread
        self._tap: Tap | None = None
        self._again = QTimer(self)
        self._again.setSingleShot(True)
        self._again.setInterval(_AGAIN_MS)
        self._again.timeout.connect(self._ask)
        for signal, slot in (
            (self._ready, self._on_ready),
            (self._asked, self._ask),
            (self._broke, self._give_up),
        ):
            signal.connect(slot, Qt.ConnectionType.QueuedConnection)
        self.player = NaturalPlayer(self._asked.emit, self._hand_over, self._broke.emit)

    def start(self) -> None:
        self.player.start()

    def stop(self) -> None:
        """Nothing arrives after it; the helper process is killed."""
        self._again.stop()
        if self._asking is not None:
            self._asking.cancel()
        with self._changed:
            self._is_stopped = True
            self._waiting = None
        self.player.end()

    def dispose(self) -> None:
        """After `stop`. Stays until its owner goes, should a thread still be about to call it."""
        self.stop()
        if self.player.join(_JOIN_S):
            self.deleteLater()

    def hold(self, is_held: bool) -> None:
        self.player.hold(is_held)

    def set_tap(self, tap: Tap | None) -> None:
        """Called in another thread with each picture, also those the window misses."""
        with self._changed:
            self._tap = tap

    def _hand_over(self, shown: NaturalPicture, picture: Picture) -> None:
        with self._changed:
            if self._is_stopped:
                return  # it was under way when nobody wanted it any more
            is_waiting = self._waiting is not None
            self._waiting = shown, picture
            tap = self._tap
        if not is_waiting:
            self._ready.emit()
        if tap is not None:
            tap(_frames_of(shown, picture))

    @Slot()
    def _on_ready(self) -> None:
        with self._changed:
            waiting, self._waiting = self._waiting, None
        if waiting is not None and not self._is_stopped:
            self.shown, _ = waiting
            self.arrived.emit(_frames_of(*waiting))

    # Which episode

    @Slot()
    def _ask(self) -> None:
        if not self._is_stopped:
            request = partial(_newest_recording, self._run_id, self._search)
            self._asking = self._bridge.ask(request, self._on_found, self._on_refused)

    def _on_found(self, found: tuple[EpisodeRecording, EpisodeSummary] | None) -> None:
        if self._is_stopped:
            return
        if found is None:
            self._again.start()  # no episode is over yet
            return
        recording, episode = found
        if recording.consent is not None:
            self._give_up(_NEEDS_CONSENT)
        elif recording.problem:
            self._on_refused(MosaicError(recording.problem))
        else:
            self._search.found()
            self.player.give(recording, episode)

    def _on_refused(self, error: MosaicError) -> None:
        if self._is_stopped:
            return
        is_connected = not isinstance(error, TrainerUnreachableError)
        if is_connected and self._search.refused(time.monotonic()):
            self._give_up(error.message)
        else:
            self._again.start()

    @Slot(str)
    def _give_up(self, reason: str) -> None:
        if not self._is_stopped:
            self.stop()
            self.failed.emit(reason)


async def _newest_recording(
    run_id: str, search: EpisodeSearch, client: AsyncTrainerClient
) -> tuple[EpisodeRecording, EpisodeSummary] | None:
    async for newest in client.episodes(run_id, limit=1, order="newest"):
        episode = search.choose(newest, time.monotonic())
        return await client.get_recording(run_id, episode.episode_index), episode
    return None


def _frames_of(shown: NaturalPicture, picture: Picture) -> LiveFrames:
    return LiveFrames(LIVE, "", (Tile(0, picture, None, shown.number),), 1)
