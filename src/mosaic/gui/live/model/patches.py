"""Which part of a picture is scaled again when a part of it has changed. Pure.

A part can be scaled by itself where its edges fall on whole pixels in both sizes, or so nearly
that nobody sees the difference: these places are the cuts of an axis. Between them it is scaled,
and of the result only what the change can have reached is taken.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from mosaic.replay.changes import NOWHERE, Box

# Of a pixel of the larger picture: a step from black to white is off by a few shades of 255.
_OFF_BY = 1 / 64
# Pixels of the picture around a change that smooth scaling mixes it with.
_REACH = 2


class Patch(NamedTuple):
    source: Box  # of the picture
    size: tuple[int, int]  # that the source is scaled to
    kept: Box  # of the result
    at: tuple[int, int]  # where that belongs in the scaled picture

    @property
    def target(self) -> Box:
        """What is new in the scaled picture."""
        return Box(*self.at, self.kept.width, self.kept.height)


class _Axis:
    def __init__(self, size: int, scaled: int) -> None:
        self._size, self._scaled = size, scaled
        most = _OFF_BY * min(size, scaled)  # the smaller of both has the larger pixels
        self._cuts = [at for at in range(size + 1) if _distance(at * scaled, size) <= most]

    def part(self, start: int, stop: int) -> tuple[int, int, int, int, int, int]:
        """Source, scaled source, and of this what is kept: each from and to."""
        size, scaled, cuts = self._size, self._scaled, self._cuts
        first = max(0, math.floor((start - _REACH) * scaled / size))
        last = min(scaled, math.ceil((stop + _REACH) * scaled / size))
        low = max(0, math.floor(first * size / scaled) - _REACH)
        high = min(size, math.ceil(last * size / scaled) + _REACH)
        begin, end = cuts[bisect_right(cuts, low) - 1], cuts[bisect_left(cuts, high)]
        return begin, end, round(begin * scaled / size), round(end * scaled / size), first, last


def _distance(number: int, size: int) -> int:
    """From the nearest multiple."""
    rest = number % size
    return min(rest, size - rest)


def united(one: Box, other: Box) -> Box:
    """The smallest that holds both."""
    if NOWHERE in (one, other):
        return other if one == NOWHERE else one
    left, top = min(one.left, other.left), min(one.top, other.top)
    right = max(one.left + one.width, other.left + other.width)
    bottom = max(one.top + one.height, other.top + other.height)
    return Box(left, top, right - left, bottom - top)


class Patches:
    """For one size of the picture and one of the scaled one."""

    def __init__(self, size: tuple[int, int], scaled: tuple[int, int]) -> None:
        self._across, self._down = _Axis(size[0], scaled[0]), _Axis(size[1], scaled[1])

    def patch(self, changed: Box) -> Patch:
        """`changed` is not empty."""
        left, right, near, far, first, last = self._across.part(
            changed.left, changed.left + changed.width
        )
        top, bottom, high, low, above, below = self._down.part(
            changed.top, changed.top + changed.height
        )
        return Patch(
            Box(left, top, right - left, bottom - top),
            (far - near, low - high),
            Box(first - near, above - high, last - first, below - above),
            (first, above),
        )
