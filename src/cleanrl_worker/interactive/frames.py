"""How frames reach the other side: as PNG in the message, or as pixels in shared memory."""

from __future__ import annotations

import base64
import contextlib
import mmap
import os
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.interactive.png import encode_png

SHARED_MEMORY = Path("/dev/shm")


class FrameChannel(Protocol):
    def describe(self, frame: NDArray[np.uint8]) -> dict[str, Any]:
        """What the message says about this frame."""

    def close(self) -> None: ...


class PngFrames:
    def describe(self, frame: NDArray[np.uint8]) -> dict[str, Any]:
        data = base64.b64encode(encode_png(frame)).decode()
        return {**_size(frame), "format": "png", "data": data}

    def close(self) -> None:
        """Nothing is kept."""


class SharedMemoryFrames:
    """Raw pixels in one segment; a frame is valid until the next command is sent.

    A plain file below /dev/shm: Python's own SharedMemory would start a process to look after it.
    The run host removes what a killed worker leaves, by the run's id in the name.
    """

    def __init__(self, run_id: str) -> None:
        self._prefix = f"mosaic.{run_id}.frames"
        self._segments = 0
        self._path: Path | None = None
        self._memory: mmap.mmap | None = None

    def describe(self, frame: NDArray[np.uint8]) -> dict[str, Any]:
        pixels = frame.tobytes()
        if self._memory is None or len(self._memory) != len(pixels):
            self._open(len(pixels))
        assert self._memory is not None and self._path is not None
        self._memory[:] = pixels
        return {**_size(frame), "format": "shm", "name": self._path.name}

    def close(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        if self._path is not None:
            with contextlib.suppress(FileNotFoundError):
                self._path.unlink()
            self._path = None

    def _open(self, size: int) -> None:
        self.close()
        self._segments += 1
        self._path = SHARED_MEMORY / f"{self._prefix}.{os.getpid()}.{self._segments}"
        fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(fd, size)
            self._memory = mmap.mmap(fd, size)
        finally:
            os.close(fd)


def open_frames(kind: str, run_id: str) -> FrameChannel | None:
    if kind == "png":
        return PngFrames()
    return SharedMemoryFrames(run_id) if kind == "shm" else None


def _size(frame: NDArray[np.uint8]) -> dict[str, int]:
    channels = 1 if frame.ndim == 2 else frame.shape[2]
    return {"height": frame.shape[0], "width": frame.shape[1], "channels": channels}
