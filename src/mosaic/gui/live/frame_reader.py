"""FrameReader: one thread that watches a run; what it sees arrives in the window's thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal, Slot

from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.viewer import LIVE, SlotsView, Viewer
from mosaic.gui.state.live_watch import LiveFrames, live_frames_of

# Numbers and words change no more often than anybody can read them.
_NEWS_S = 0.1
# A run that shows nothing is looked at less often; the lease lasts longer than this.
_QUIET_LOOK_S = 0.1
_JOIN_S = 5.0

Tap = Callable[[LiveFrames], None]


class FrameReader(QObject):
    """However slow the window is, at most one batch waits for it: the newest."""

    arrived = Signal(object)  # LiveFrames
    _ready = Signal()

    def __init__(
        self,
        run_id: str,
        first_slot: int = 0,
        slot_count: int = 8,
        fps: float = 60.0,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._interval_s = 1 / fps
        self._viewer = Viewer(
            segment_path(run_id),
            first_slot=first_slot,
            slot_count=slot_count,
            interval_s=self._interval_s,
        )
        self._stopping = threading.Event()
        self._changed = threading.Lock()
        self._waiting: LiveFrames | None = None  # for the window's thread
        self._tap: Tap | None = None
        self._thread: threading.Thread | None = None
        self._ready.connect(self._on_ready, Qt.ConnectionType.QueuedConnection)

    def start(self) -> None:
        if self._thread is None and not self._stopping.is_set():
            self._thread = threading.Thread(
                target=self._watch, name="mosaic-gui-frames", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Nobody watches any more when this returns; nothing arrives after it."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(_JOIN_S)
            self._thread = None

    def set_tap(self, tap: Tap | None) -> None:
        """Called in the reader's thread with each new picture, also those the window misses."""
        with self._changed:
            self._tap = tap

    def _watch(self) -> None:
        last, told_at = SlotsView(""), 0.0
        due = time.monotonic()
        try:
            while not self._stopping.is_set():
                view = self._viewer.poll_slots()
                now = time.monotonic()
                is_changed = view[:2] != last[:2]
                if view.is_new or is_changed or (now - told_at >= _NEWS_S and view != last):
                    self._hand_over(live_frames_of(view), view.is_new)
                    last, told_at = view, now
                # Twice as often as frames come: none of them waits for long. A late look does
                # not make the next one come sooner.
                pause_s = self._interval_s / 2 if view.status == LIVE else _QUIET_LOOK_S
                due = max(due + pause_s, now)
                self._stopping.wait(due - time.monotonic())
        finally:
            self._viewer.close()

    def _hand_over(self, frames: LiveFrames, is_new: bool) -> None:
        with self._changed:
            is_waiting = self._waiting is not None
            self._waiting = frames
            tap = self._tap
        if not is_waiting:
            self._ready.emit()
        if tap is not None and is_new:
            tap(frames)

    @Slot()
    def _on_ready(self) -> None:
        with self._changed:
            frames, self._waiting = self._waiting, None
        if frames is not None and not self._stopping.is_set():
            self.arrived.emit(frames)
