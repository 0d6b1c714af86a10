"""PNG files with 256 colours that look like the picture they are made from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PySide6.QtGui import QImage

_COLOURS = 256
_FREQUENT = 96


def save_small(picture: QImage, path: Path) -> None:
    """A third as large as with all colours: most of those are edges of letters."""
    plain = picture.convertToFormat(QImage.Format.Format_RGB888)
    width, height = plain.width(), plain.height()
    lines = np.frombuffer(plain.constBits(), np.uint8).reshape(height, plain.bytesPerLine())
    pixels = lines[:, : 3 * width].reshape(-1, 3)
    packed = pixels.astype(np.uint32) @ np.array([65536, 256, 1], np.uint32)
    found, where, counts = np.unique(packed, return_inverse=True, return_counts=True)
    colours = np.stack([found >> 16, found >> 8 & 255, found & 255], axis=1).astype(np.int32)
    chosen, nearest = _palette(colours, counts)
    small = Image.fromarray(nearest[where].reshape(height, width).astype(np.uint8), "P")
    small.putpalette(colours[chosen].astype(np.uint8).tobytes())
    small.save(path, optimize=True)


def _palette(
    colours: NDArray[np.int32], counts: NDArray[Any]
) -> tuple[list[int], NDArray[np.int64]]:
    """The most frequent ones, then always the one that is worst represented.

    So a mark of a few pixels keeps its colour, which dividing by frequency would take from it.
    """
    chosen: list[int] = []
    distances = np.full(len(colours), np.iinfo(np.int32).max, np.int64)
    nearest = np.zeros(len(colours), np.int64)
    frequent = np.argsort(-counts, kind="stable")[:_FREQUENT]
    for place in range(min(_COLOURS, len(colours))):
        index = int(frequent[place]) if place < len(frequent) else int(np.argmax(distances))
        away = ((colours - colours[index]) ** 2).sum(axis=1)
        is_nearer = away < distances
        distances[is_nearer], nearest[is_nearer] = away[is_nearer], place
        chosen.append(index)
    return chosen, nearest
