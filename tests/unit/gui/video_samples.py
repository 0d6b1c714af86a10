"""Short videos, for tests of what plays them."""

from __future__ import annotations

from pathlib import Path

from mosaic.fastlane.tiling import Picture
from mosaic.frames.encoder import MovieFile


def write_video(
    path: Path, *, frames: int = 20, fps: float = 10, size: tuple[int, int] = (64, 48)
) -> Path:
    width, height = size
    movie = MovieFile(path, fps)
    for index in range(frames):
        pixels = bytes([index * 8 % 256, 80, 160]) * (width * height)
        movie.add(Picture(width, height, pixels), index / fps)
    movie.finish()
    return path
