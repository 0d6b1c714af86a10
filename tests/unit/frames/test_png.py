"""PNG files, read back with nothing but zlib."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mosaic.fastlane.tiling import Picture
from mosaic.frames.pictures import png_bytes, write_png
from tests.unit.frames.pictures import drawn, read_png


@pytest.mark.parametrize(
    "picture", [drawn("RGB", "W.W"), drawn("R"), Picture(37, 21, os.urandom(37 * 21 * 3))]
)
def test_what_is_written_is_read(picture: Picture) -> None:
    assert read_png(png_bytes(picture)) == picture


def test_a_file_appears_whole_and_alone(tmp_path: Path) -> None:
    path = tmp_path / "one.png"
    write_png(path, drawn("R"))
    write_png(path, drawn("GB"))
    assert read_png(path.read_bytes()) == drawn("GB")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_png(tmp_path / "missing" / "one.png", drawn("R"))
