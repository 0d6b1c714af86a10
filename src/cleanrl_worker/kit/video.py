"""VideoWriter: frames into an MP4 that every browser plays. A full disk costs only the video."""

from __future__ import annotations

import contextlib
import os
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic.errors import DependencyError, WorkerError
from mosaic.logs import get_logger

log = get_logger(__name__)

Frame = NDArray[np.uint8]  # (height, width, 3)


class VideoWriter:
    """Appears under its name only when it is complete; without a frame there is no file."""

    def __init__(self, path: Path, fps: float) -> None:
        try:
            import av
        except ImportError as error:
            raise DependencyError(
                "Videos need PyAV, which is not installed",
                hint='pip install "mosaic-rl[video]"',
            ) from error
        self._av = av
        self.path = path
        self.frames = 0
        self._rate = Fraction(fps).limit_denominator(1000)
        self._partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._has_failed = False
        self._container: Any = None
        self._stream: Any = None
        self._canvas: Frame = np.zeros((0, 0, 3), np.uint8)

    def add(self, frame: Frame) -> None:
        """The first frame sets the size; a later one of another size is cut or filled up."""
        frame = np.asarray(frame)  # an environment without pictures gives None
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
            raise WorkerError(
                f"A video frame must be uint8 of shape (height, width, 3), not {frame.dtype} "
                f"of shape {frame.shape}",
                hint='the environment\'s render mode must be "rgb_array"',
            )
        if self._has_failed:
            return
        try:
            self._encode(frame)
        except OSError as error:  # PyAV's errors of the system are OSErrors, too
            self._give_up(error)

    def close(self) -> None:
        if self._container is None:
            return
        try:
            self._container.mux(self._stream.encode(None))
            self._container.close()
            self._container = None
            self._partial.replace(self.path)
        except OSError as error:
            self._give_up(error)

    def _encode(self, frame: Frame) -> None:
        if self._container is None:
            self._open(*frame.shape[:2])
        height = min(frame.shape[0], self._canvas.shape[0])
        width = min(frame.shape[1], self._canvas.shape[1])
        self._canvas[:height, :width] = frame[:height, :width]
        picture = self._av.VideoFrame.from_ndarray(self._canvas, format="rgb24")
        picture.pts = self.frames
        self._container.mux(self._stream.encode(picture))
        self.frames += 1

    def _open(self, height: int, width: int) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # yuv420p halves both sides: odd ones get one more black row or column.
        height, width = height + height % 2, width + width % 2
        self._canvas = np.zeros((height, width, 3), np.uint8)
        container = self._av.open(str(self._partial), mode="w", format="mp4")
        stream = container.add_stream("libx264", rate=self._rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.time_base = stream.codec_context.time_base = 1 / self._rate
        stream.codec_context.thread_count = 1  # the other cores belong to the training
        stream.options = {"preset": "veryfast", "crf": "23"}
        self._container, self._stream = container, stream

    def _give_up(self, error: OSError) -> None:
        log.warning("video.write_failed", path=str(self.path), error=error.strerror)
        self._has_failed = True
        with contextlib.suppress(OSError):
            if self._container is not None:
                self._container.close()
        self._container = None
        with contextlib.suppress(OSError):
            self._partial.unlink()

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
