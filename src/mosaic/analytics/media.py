"""Media: histograms and pictures that a run logged, as many of them as can be looked at.

Files are foreign: whatever is too large, has no sensible numbers or comes too often is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from mosaic.foreign.files import read_regular

MOST_TAGS = 200
MOST_HISTOGRAMS, MOST_PICTURES = 240, 60  # of one tag; beyond, every other one is kept
MOST_BUCKETS = 4_096
MOST_PICTURE_BYTES = 8_000_000
_MOST_BYTES = 64_000_000  # of all pictures together


@dataclass(frozen=True)
class Histogram:
    """`counts` between neighbouring `edges`, of which there is one more."""

    step: int
    edges: tuple[float, ...]
    counts: tuple[float, ...]


@dataclass(frozen=True)
class Picture:
    """As it was encoded: in the log itself, or in a file beside it."""

    step: int
    data: bytes = b""
    path: Path | None = None


@dataclass(frozen=True)
class MediaView:
    """What is known at one moment, by tag, in the order of the steps."""

    histograms: dict[str, tuple[Histogram, ...]] = field(default_factory=dict)
    pictures: dict[str, tuple[Picture, ...]] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        return not (self.histograms or self.pictures)

    def __or__(self, other: MediaView) -> MediaView:
        return MediaView(self.histograms | other.histograms, self.pictures | other.pictures)


T = TypeVar("T", Histogram, Picture)


def picture_bytes(picture: Picture) -> bytes:
    """Raises OSError or ValueError where its file is gone, too large or no plain file. Blocks."""
    if picture.path is None:
        return picture.data
    return read_regular(picture.path, MOST_PICTURE_BYTES, follow_links=False)


class Media:
    def __init__(self) -> None:
        self._histograms: dict[str, list[Histogram]] = {}
        self._pictures: dict[str, list[Picture]] = {}
        self._bytes = 0

    def add_histogram(self, tag: str, found: Histogram | None) -> None:
        if found is not None:
            self._add(self._histograms, tag, found, MOST_HISTOGRAMS)

    def add_picture(self, tag: str, found: Picture) -> None:
        if 0 < len(found.data) <= MOST_PICTURE_BYTES or found.path is not None:
            self._add(self._pictures, tag, found, MOST_PICTURES)
            while self._size() > _MOST_BYTES:
                fullest = max(self._pictures.values(), key=_bytes_of)
                fullest[:] = fullest[1::2]

    def rewind(self, step: int) -> None:
        """A training that was resumed tells these once more."""
        _cut(self._histograms, step)
        _cut(self._pictures, step)

    def view(self, prefix: str = "") -> MediaView:
        return MediaView(_copied(self._histograms, prefix), _copied(self._pictures, prefix))

    def _add(self, known: dict[str, list[T]], tag: str, item: T, most: int) -> None:
        if tag not in known and len(known) >= MOST_TAGS:
            return
        items = known.setdefault(tag, [])
        if len(items) >= most:
            items[:] = items[1::2]
        items.append(item)

    def _size(self) -> int:
        return sum(_bytes_of(items) for items in self._pictures.values())


def _cut(known: dict[str, list[T]], step: int) -> None:
    for items in known.values():
        items[:] = [item for item in items if item.step < step]


def _bytes_of(items: Iterable[Picture]) -> int:
    return sum(len(item.data) for item in items)


def _copied(known: dict[str, list[T]], prefix: str) -> dict[str, tuple[T, ...]]:
    return {
        prefix + tag: tuple(sorted(items, key=lambda item: item.step))
        for tag, items in known.items()
        if items
    }


def histogram(step: int, edges: Sequence[float], counts: Sequence[float]) -> Histogram | None:
    """None for what is no histogram."""
    if not 1 <= len(counts) <= MOST_BUCKETS or len(edges) != len(counts) + 1:
        return None
    if not all(map(math.isfinite, edges)) or not all(0 <= count < math.inf for count in counts):
        return None
    if any(right < left for left, right in pairwise(edges)):
        return None
    if sum(counts) <= 0:
        return None
    return Histogram(step, tuple(map(float, edges)), tuple(map(float, counts)))


def histogram_of_limits(
    step: int, low: float, high: float, limits: Sequence[float], counts: Sequence[float]
) -> Histogram | None:
    """From the right ends of the buckets; the first and the last may reach to the ends of floats,
    and end with the smallest and the largest value instead."""
    if not (math.isfinite(low) and math.isfinite(high) and low <= high):
        return None
    if not limits or len(limits) != len(counts):
        return None
    edges = [low, *(min(max(limit, low), high) for limit in limits)]
    if low == high:  # a value that is always the same has a bucket around it
        return histogram(step, (low - 0.5, low + 0.5), (sum(counts),))
    return histogram(step, edges, counts)
