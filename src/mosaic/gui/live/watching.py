"""Watching: where the pictures of a run come from, for as long as somebody sees them."""

from __future__ import annotations

import time
from typing import NamedTuple

from PySide6.QtCore import QObject, Signal

from mosaic.gui.live.clips import PictureSource
from mosaic.gui.live.frame_reader import FrameReader
from mosaic.gui.live.model.natural import NaturalPicture, ViewKind
from mosaic.gui.live.natural_reader import NaturalReader
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.live_watch import LiveFrames, LiveViewer


class Wanted(NamedTuple):
    run_id: str
    kind: ViewKind
    slots: int
    fps: int


class Watching(QObject):
    """At natural speed the run's own samples are shown until there is an episode, and then no
    longer: nobody holds its lease any more, and the run draws nothing.
    """

    arrived = Signal(object)  # LiveFrames
    natural_began = Signal()
    natural_failed = Signal(str)  # why it cannot go on

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench, self._live = workbench, workbench.state.live
        self.wanted: Wanted | None = None  # None: nothing is watched
        self._samples: FrameReader | None = None
        self._natural: NaturalReader | None = None

    def start(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._live.begin(LiveViewer.CENTRE, wanted.run_id)
        self._samples = FrameReader(wanted.run_id, 0, wanted.slots, float(wanted.fps), self)
        self._samples.arrived.connect(self._on_samples_arrived)
        self._samples.start()
        if wanted.kind is ViewKind.NATURAL:
            self._natural = NaturalReader(wanted.run_id, self._workbench.bridge, self)
            self._natural.arrived.connect(self._on_natural_arrived)
            self._natural.failed.connect(self._on_natural_failed)
            self._natural.start()

    def stop(self) -> None:
        """Nothing arrives after it, and no process is left."""
        self.wanted = None
        self._stop_samples()
        if self._natural is not None:
            self._natural.dispose()
            self._natural = None

    def hold(self, is_held: bool) -> None:
        """A run that is paused stands still."""
        if self._natural is not None:
            self._natural.hold(is_held)

    @property
    def source(self) -> PictureSource | None:
        return self._samples or self._natural

    @property
    def shown(self) -> NaturalPicture | None:
        """Of which episode; None: samples, or nothing."""
        return self._natural.shown if self._natural is not None else None

    @property
    def helper_pid(self) -> int | None:
        """Of the process that draws at natural speed."""
        return self._natural.player.pid if self._natural is not None else None

    def _stop_samples(self) -> None:
        if self._samples is not None:
            self._samples.stop()
            self._samples.deleteLater()
            self._samples = None
            self._live.end(LiveViewer.CENTRE)

    def _on_samples_arrived(self, frames: LiveFrames) -> None:
        if self.sender() is self._samples:
            self._live.take(frames, time.monotonic())
            self.arrived.emit(frames)

    def _on_natural_arrived(self, frames: LiveFrames) -> None:
        if self.sender() is not self._natural:
            return
        is_first = self._samples is not None
        if is_first:
            self._stop_samples()
        self.arrived.emit(frames)
        if is_first:
            self.natural_began.emit()

    def _on_natural_failed(self, problem: str) -> None:
        if self.sender() is self._natural:
            self.natural_failed.emit(problem)
