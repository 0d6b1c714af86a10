"""ClipRecording: what is watched becomes clips in the run's folder, as by `mosaic frames --record`.

Beginning and ending take their time and belong in a thread; frames come from the reader's.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from mosaic.errors import MosaicError, RunStateError
from mosaic.fastlane.layout import BrokenSegmentError
from mosaic.fastlane.tiling import tiled
from mosaic.frames.clips import ClipFolder
from mosaic.frames.recorder import Recorder
from mosaic.frames.recording import Clips
from mosaic.gui.state.live_frames import LiveFrames

FPS = 30.0
KEEP = 20
# Frames that come a little early are taken all the same.
_SHORTEST_S = 0.9 / FPS


class ClipRecording:
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
        self.is_over = False  # it cannot go on; `close` says why
        with contextlib.ExitStack() as held:
            folder = ClipFolder(run_directory, run_id, worker_type)
            try:
                held.enter_context(folder.held())
                self._clips = Clips(Recorder(FPS), folder, KEEP)
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
