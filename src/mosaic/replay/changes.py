"""From one picture to the next often little changes: the rectangle that holds all of it.

`ChangeFinder` tells a picture by what is new in it, `ChangingPicture` puts the pictures together
again. Pure; arrays are only asked for what they can do themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

CHANNELS = 3
_WORD = 8  # bytes that are compared at once


class Box(NamedTuple):
    left: int
    top: int
    width: int
    height: int


class Change(NamedTuple):
    width: int  # of the whole picture
    height: int
    box: Box  # what lies outside is as it was
    pixels: bytes  # RGB, row by row, of the box alone


NOWHERE = Box(0, 0, 0, 0)


def changed_box(before: Any, after: Any) -> Box:
    """Two arrays (height, width, 3) of bytes, of the same shape and without gaps."""
    height, width = after.shape[:2]
    line = width * CHANNELS
    word = _WORD if line % _WORD == 0 else 1
    old, new = (each.reshape(height, line).view(f"u{word}") for each in (before, after))
    differs = old != new
    rows = differs.any(axis=1).nonzero()[0]
    if not len(rows):
        return NOWHERE
    top, stop = int(rows[0]), int(rows[-1]) + 1
    words = differs[top:stop].any(axis=0).nonzero()[0]
    left = int(words[0]) * word // CHANNELS
    right = -(-(int(words[-1]) + 1) * word // CHANNELS)
    return Box(left, top, right - left, stop - top)


class ChangeFinder:
    def __init__(self) -> None:
        self._before: Any = None

    def change_to(self, picture: Any) -> Change:
        """An array (height, width, 3) of bytes, which is copied."""
        before, self._before = self._before, picture.copy()  # without gaps, as the copy is
        height, width = picture.shape[:2]
        box = Box(0, 0, width, height)
        if before is not None and before.shape == picture.shape:
            box = changed_box(before, self._before)
        rows = slice(box.top, box.top + box.height)
        columns = slice(box.left, box.left + box.width)
        return Change(width, height, box, self._before[rows, columns].tobytes())


class ChangingPicture:
    def __init__(self) -> None:
        self._size = (0, 0)
        self._pixels = bytearray()

    def take(self, change: Change) -> None:
        """Raises ValueError for one that does not fit what came before."""
        width, height, box, pixels = change
        left, top = box.left, box.top
        if len(pixels) != box.width * box.height * CHANNELS or min(*change[:2], *box) < 0:
            raise ValueError(f"a change of {box.width}x{box.height} has {len(pixels):,} bytes")
        if box == (0, 0, width, height):
            self._size, self._pixels = (width, height), bytearray(pixels)
            return
        if self._size != (width, height) or left + box.width > width or top + box.height > height:
            raise ValueError(f"a change at {left}, {top} is of no picture of {width}x{height}")
        stride = box.width * CHANNELS
        for row in range(box.height):
            start = ((top + row) * width + left) * CHANNELS
            self._pixels[start : start + stride] = pixels[row * stride : (row + 1) * stride]

    @property
    def pixels(self) -> bytes:
        """Of the whole picture, RGB, row by row."""
        return bytes(self._pixels)
