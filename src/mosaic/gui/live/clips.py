"""What is kept of the live view: clips and snapshots in the run's folder."""

from __future__ import annotations

import contextlib
import threading
import time
from functools import partial
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QBuffer, QIODevice, QObject, QTimer, Signal
from PySide6.QtGui import QImage

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError, RunStateError
from mosaic.fastlane.layout import BrokenSegmentError
from mosaic.fastlane.tiling import tiled
from mosaic.files import atomic_write
from mosaic.frames.recorder import Recorder
from mosaic.frames.videos import ClipFolder, ClipSeries
from mosaic.gui.live.frame_reader import Tap
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.live_watch import LiveFrames
from mosaic.gui.state.notices import Notice, Severity, notice_of
from mosaic.gui.tabs.desktop import open_file

FPS = 30.0
KEEP = 20
# Frames that come a little early are taken all the same.
_SHORTEST_S = 0.9 / FPS


class ClipRecording:
    """What is watched becomes clips in the run's folder, as by `mosaic frames --record`.

    Beginning and ending take their time and belong in a thread; frames come from the reader's.
    """

    def __init__(
        self, run_directory: Path, run_id: str, worker_type: str, slot: int | None = None
    ) -> None:
        """Raises MosaicError: no PyAV, or somebody else records this run."""
        self.folder = run_directory / "videos"
        self._slot = slot  # None: all of them, tiled
        self._changed = threading.Lock()
        self._last_s = 0.0
        self._is_closed = False
        self.began_s: float | None = None  # when the first frame came
        self.is_over = False  # it cannot continue; `close` says why
        with contextlib.ExitStack() as held:
            folder = ClipFolder(run_directory, run_id, worker_type)
            try:
                held.enter_context(folder.held())
                self._clips = ClipSeries(Recorder(FPS), folder, KEEP)
            except OSError as error:
                raise RunStateError(f"Clips cannot be saved: {error}") from error
            self._held = held.pop_all()

    def take(self, frames: LiveFrames) -> None:
        with self._changed:
            now = time.monotonic()
            if self._is_closed or self.is_over or now - self._last_s < _SHORTEST_S:
                return
            self._last_s = now
            shown = [tile.picture for tile in frames.tiles if self._slot in (None, tile.slot)]
            try:
                picture = tiled(shown) if any(shown) else None
            except BrokenSegmentError:
                picture = None  # of sizes that make no picture together
            if picture is not None and self.began_s is None:
                self.began_s = now
            self.is_over = self._clips.take(picture, now)

    def close(self) -> str:
        """Waits for the encoder; returns a sentence, raises MosaicError when it failed."""
        with self._changed:
            if self._is_closed:
                raise MosaicError("The recording has ended already")
            self._is_closed = True
        with self._held:
            return self._clips.close()

    def seconds(self) -> float:
        return 0.0 if self.began_s is None else time.monotonic() - self.began_s


class PictureSource(Protocol):
    def set_tap(self, tap: Tap | None) -> None:
        """Each new picture, in a thread of the source."""


_LOOK_MS = 500


class ClipControl(QObject):
    # Seconds so far, None when nothing is recorded; and whether the encoder is being waited for.
    """Begins and ends recordings without making the window wait."""

    changed = Signal(object, bool)

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._state, self._bridge = workbench.state, workbench.bridge
        self._reader: PictureSource | None = None
        self._recording: ClipRecording | None = None
        self._is_beginning = False
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)

    @property
    def is_recording(self) -> bool:
        return self._recording is not None

    def begin(self, reader: PictureSource, details: RunRecord, slot: int | None) -> None:
        """Of one tile, or of all."""
        if self._is_beginning or self._recording is not None:
            return
        self._is_beginning, self._reader = True, reader
        directory = Path(details.paths["run_directory"])
        worker_type = str(details.capabilities.get("worker_type") or details.worker)
        self._bridge.work(
            partial(ClipRecording, directory, details.run_id, worker_type, slot),
            self._on_begun,
            self._on_failed,
        )
        self.changed.emit(0.0, False)

    def end(self, is_last: bool = False) -> None:
        """Says what became of it; `is_last`: the window closes, and what is begun is finished."""
        self._timer.stop()
        if self._reader is not None:
            self._reader.set_tap(None)
        self._reader = None
        recording, self._recording = self._recording, None
        if recording is None:
            return
        if is_last:
            self._finish_now(recording)
            return
        self.changed.emit(recording.seconds(), True)
        self._bridge.work(
            recording.close, partial(self._on_saved, recording.folder), self._on_failed
        )

    def _finish_now(self, recording: ClipRecording) -> None:
        try:
            recording.close()
        except MosaicError as error:
            self._state.say(notice_of(error))

    def _on_begun(self, recording: ClipRecording) -> None:
        self._is_beginning = False
        self._recording = recording
        if self._reader is None:  # nobody watches any more
            self.end()
            return
        self._reader.set_tap(recording.take)
        self._timer.start()

    def _look(self) -> None:
        recording = self._recording
        if recording is None or recording.is_over:
            self.end()
        else:
            self.changed.emit(recording.seconds(), False)

    def _on_saved(self, folder: Path, sentence: str) -> None:
        self.changed.emit(None, False)
        self._state.say(
            Notice(sentence, Severity.GOOD, partial(open_file, self._workbench, folder), "Open")
        )

    def _on_failed(self, error: MosaicError) -> None:
        self._is_beginning = False
        self._reader = None
        self.changed.emit(None, False)
        self._state.say(notice_of(error))


SNAPSHOTS_FOLDER = "snapshots"


def save_snapshot(image: QImage, run_directory: Path, steps: int) -> Path:
    """Blocks while it writes; raises RunStateError."""
    folder = run_directory / SNAPSHOTS_FOLDER
    moment = time.strftime("%Y%m%d-%H%M%S")
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        path = folder / f"{moment}-step-{steps}.png"
        number = 2
        while path.exists():
            path = folder / f"{moment}-step-{steps}-{number}.png"
            number += 1
        atomic_write(path, _png(image), 0o644)
    except OSError as error:
        raise RunStateError(
            f"The snapshot cannot be saved: {error.strerror or error}", hint=f"see {folder}"
        ) from error
    return path


def _png(image: QImage) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())
