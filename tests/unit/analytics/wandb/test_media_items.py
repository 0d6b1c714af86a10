"""Histograms and pictures in the history of a W&B log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.analytics.media import Media, MediaView, picture_bytes
from mosaic.analytics.wandb.media_items import keep_media


def kept(files: Path, *values: Any) -> MediaView:
    media = Media()
    for step, value in enumerate(values):
        keep_media(media, "x", json.dumps(value).encode(), step, files)
    return media.view()


def test_histograms_with_and_without_packed_edges(tmp_path: Path) -> None:
    plain = {"_type": "histogram", "values": [1, 2], "bins": [0, 0.5, 1]}
    packed = {
        "_type": "histogram",
        "values": [1, 2],
        "packedBins": {"min": 0, "size": 2, "count": 2},
    }
    first, second = kept(tmp_path, plain, packed).histograms["x"]
    assert (first.edges, first.counts) == ((0, 0.5, 1), (1, 2))
    assert second.edges == (0, 2, 4)


@pytest.mark.parametrize(
    "value",
    [
        {"_type": "histogram", "values": [1, 2], "bins": [0, 1]},
        {"_type": "histogram", "values": ["a"], "bins": [0, 1]},
        {"_type": "histogram", "values": [1], "packedBins": {"min": 0, "size": 1, "count": 10**9}},
        {"_type": "image-file", "path": "../../secret.png"},
        {"_type": "image-file", "path": "/etc/passwd"},
        {"_type": "image-file"},
        {"_type": "images/separated", "filenames": []},
        {"_type": "table-file", "path": "a"},
        [1, 2],
    ],
)
def test_odd_ones_are_left_out(tmp_path: Path, value: Any) -> None:
    assert kept(tmp_path, value).is_empty


def test_pictures_are_files_within_the_folder_beside_the_log(tmp_path: Path) -> None:
    files = tmp_path / "files"
    (files / "media").mkdir(parents=True)
    (files / "media" / "a.png").write_bytes(b"png")
    (tmp_path / "secret").mkdir()
    (files / "away").symlink_to(tmp_path / "secret")
    one = {"_type": "image-file", "path": "media/a.png"}
    several = {"_type": "images/separated", "filenames": ["media/a.png", "media/b.png"]}
    away = {"_type": "image-file", "path": "away/b.png"}
    found = kept(files, one, several, away).pictures["x"]
    assert [picture_bytes(picture) for picture in found] == [b"png", b"png"]
