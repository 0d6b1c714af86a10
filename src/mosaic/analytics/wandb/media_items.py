"""Histograms and pictures in the history of a W&B log: JSON objects that say what they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from mosaic.analytics.media import MOST_BUCKETS, Histogram, Media, Picture, histogram
from mosaic.foreign.files import parse_shallow_json

_MOST_TEXT = 400_000
_SEVERAL = "images/separated"
_ONE = "image-file"


def keep_media(media: Media, name: str, text: bytes, step: int, files: Path) -> None:
    """`files` is the folder beside the log: pictures are in it, wherever the log says they are."""
    if not text.startswith(b"{") or len(text) > _MOST_TEXT:
        return
    try:
        said = parse_shallow_json(text)
    except ValueError:
        return
    if not isinstance(said, Mapping):
        return
    kind = said.get("_type")
    if kind == "histogram":
        media.add_histogram(name, _histogram(said, step))
    elif kind in (_ONE, _SEVERAL):
        path = _inside(files, _place(said))
        if path is not None:
            media.add_picture(name, Picture(step, path=path))


def _histogram(said: Mapping[str, Any], step: int) -> Histogram | None:
    counts, edges = said.get("values"), said.get("bins")
    packed = said.get("packedBins")
    if isinstance(packed, Mapping):
        edges = _unpacked(packed)
    if not _are_numbers(counts) or not _are_numbers(edges):
        return None
    return histogram(step, edges, counts)  # type: ignore[arg-type]


def _unpacked(packed: Mapping[str, Any]) -> list[float] | None:
    """Edges that are equally far apart: the first, the distance, and how many buckets."""
    begin, width, count = (packed.get(key) for key in ("min", "size", "count"))
    if not _are_numbers([begin, width]) or not isinstance(count, int):
        return None
    if not 0 < count <= MOST_BUCKETS:
        return None
    return [float(begin) + place * float(width) for place in range(count + 1)]  # type: ignore[arg-type]


def _are_numbers(values: object) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )


def _place(said: Mapping[str, Any]) -> str:
    """Of several pictures, the first."""
    names = said.get("filenames")
    if said.get("_type") == _SEVERAL and isinstance(names, list) and names:
        return str(names[0])
    return str(said.get("path") or "")


def _inside(files: Path, place: str) -> Path | None:
    parts = PurePosixPath(place)
    if not place or "\0" in place or parts.is_absolute() or ".." in parts.parts:
        return None
    found = (files / parts).resolve()
    return found if found.is_relative_to(files.resolve()) else None  # a link may lead away
