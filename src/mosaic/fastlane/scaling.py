"""Frames as they fit into a slot: RGB, small enough, contiguous."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from mosaic.fastlane.layout import CHANNELS


class FittedFrame(NamedTuple):
    width: int
    height: int
    pixels: Any  # an array of bytes


def fitted_size(width: int, height: int, max_dim: int, max_bytes: int) -> tuple[int, int]:
    """As large as allowed, with the same proportions, never larger than it is."""
    scale = min(1.0, max_dim / max(width, height))
    scale = min(scale, math.sqrt(max_bytes / (width * height * CHANNELS)))
    return max(1, int(width * scale)), max(1, int(height * scale))


class Fitter:
    """Keeps the indices of the last size: an environment's frames are nearly always alike."""

    def __init__(self, max_dim: int, max_bytes: int) -> None:
        self._max_dim, self._max_bytes = max_dim, max_bytes
        self._key: tuple[int, int] | None = None
        self._size = (0, 0)
        self._places: Any = None  # in the frame, of each pixel that is kept

    def __call__(self, frame: Any) -> FittedFrame:
        """Raises ValueError for what is no picture."""
        import numpy as np

        array = np.asarray(frame)
        if array.ndim == 2:
            array = np.repeat(array[:, :, None], CHANNELS, 2)  # grey
        if array.ndim != 3 or array.shape[2] < CHANNELS or 0 in array.shape:
            raise ValueError(f"no picture: an array of shape {array.shape}")
        if array.dtype != np.uint8:
            top = 255.0 if array.dtype.kind == "f" and float(array.max()) <= 1.0 else 1.0
            array = np.clip(array * top, 0, 255).astype(np.uint8)
        height, width = array.shape[:2]
        pixels = np.ascontiguousarray(array[:, :, :CHANNELS])
        if self._key != (height, width):
            self._remember(np, height, width)
        if self._places is not None:
            # Whole pixels are taken at once: several times as fast as indexing rows and columns.
            pixels = pixels.view(np.dtype((np.void, CHANNELS))).ravel().take(self._places)
        return FittedFrame(*self._size, pixels.view(np.uint8))

    def _remember(self, np: Any, height: int, width: int) -> None:
        self._key = (height, width)
        self._size = fitted_size(width, height, self._max_dim, self._max_bytes)
        self._places = None
        if self._size != (width, height):
            new_width, new_height = self._size
            # The middle of each new pixel, so that the picture does not shift.
            rows = ((np.arange(new_height) + 0.5) * height / new_height).astype(np.intp)
            columns = ((np.arange(new_width) + 0.5) * width / new_width).astype(np.intp)
            self._places = (rows[:, None] * width + columns).ravel()
