"""How frames reach the other side: as PNG in the message, or as pixels in shared memory."""

from __future__ import annotations

import base64
import contextlib
import mmap
import os
import struct
import zlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOUR_TYPES = {1: 0, 3: 2, 4: 6}  # grey, RGB, RGBA
_DIFFERENCE_TO_ROW_ABOVE = 2
_LEVEL = 3  # beyond it frames hardly shrink and take several times as long


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


def encode_png(frame: NDArray[np.uint8]) -> bytes:
    """`frame` is (height, width) or (height, width, channels) with 1, 3 or 4 channels."""
    pixels = frame[:, :, None] if frame.ndim == 2 else frame
    height, width, channels = pixels.shape
    rows = pixels.reshape(height, width * channels)
    filtered = np.empty((height, 1 + width * channels), np.uint8)
    filtered[:, 0] = _DIFFERENCE_TO_ROW_ABOVE
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOUR_TYPES[channels], 0, 0, 0)
    body = zlib.compress(filtered.tobytes(), _LEVEL)
    return _SIGNATURE + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def is_frame(value: Any) -> bool:
    """Whether this can be encoded: what some environments render is text, or nothing."""
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or 0 in value.shape:
        return False
    return value.ndim == 2 or (value.ndim == 3 and value.shape[2] in _COLOUR_TYPES)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
