"""ClipControl: begins and ends recordings without making the window wait."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.live.clip_recording import ClipRecording
from mosaic.gui.live.frame_reader import FrameReader
from mosaic.gui.state.notices import Notice, Severity, notice_of
from mosaic.gui.tabs.opening import open_file
from mosaic.gui.workbench import Workbench

_LOOK_MS = 500


class ClipControl(QObject):
    # Seconds so far, None when nothing is recorded; and whether the encoder is being waited for.
    changed = Signal(object, bool)

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._state, self._bridge = workbench.state, workbench.bridge
        self._reader: FrameReader | None = None
        self._recording: ClipRecording | None = None
        self._is_beginning = False
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)

    @property
    def is_recording(self) -> bool:
        return self._recording is not None

    def begin(self, reader: FrameReader, details: RunRecord, slot: int | None) -> None:
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
