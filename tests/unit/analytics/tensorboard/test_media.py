"""Histograms and pictures that a real SummaryWriter wrote."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mosaic.analytics import protobuf_wire as wire
from mosaic.analytics.media import MOST_HISTOGRAMS, Histogram, Media, Picture
from mosaic.analytics.tensorboard.media_values import (
    histogram_tensor,
    histogram_value,
    picture_tensor,
)
from mosaic.analytics.tensorboard.reader import ScalarReader

torch_board = pytest.importorskip("torch.utils.tensorboard")


def written(folder: Path) -> ScalarReader:
    writer = torch_board.SummaryWriter(str(folder))
    chance = np.random.default_rng(3)
    for step in range(0, 50, 10):
        writer.add_histogram("weights", chance.normal(step, 1.0, 1000), step)
        picture = np.full((3, 8, 12), step / 50, dtype=np.float32)
        writer.add_image("view", picture, step)
        writer.add_scalar("loss", 1.0 / (step + 1), step)
    writer.add_histogram("same", np.zeros(10), 0)
    writer.close()
    reader = ScalarReader(folder, wants_media=True)
    assert len(reader.read_new()["."].series["loss"]) == 5
    return reader


def test_histograms_and_pictures_are_read_beside_the_scalars(tmp_path: Path) -> None:
    media = written(tmp_path).media()
    assert [one.step for one in media.histograms["weights"]] == [0, 10, 20, 30, 40]
    last = media.histograms["weights"][-1]
    assert sum(last.counts) == 1000
    middles = [(left + right) / 2 for left, right in pairwise(last.edges)]
    mean = np.average(middles, weights=last.counts)
    assert mean == pytest.approx(40, abs=2)
    assert all(36 <= edge <= 44 for edge in last.edges), "no bucket reaches to the end of floats"
    assert len(media.histograms["same"]) == 1
    assert [one.step for one in media.pictures["view"]] == [0, 10, 20, 30, 40]
    assert media.pictures["view"][0].data.startswith(b"\x89PNG")


def test_without_being_asked_nothing_of_it_is_kept(tmp_path: Path) -> None:
    written(tmp_path)
    reader = ScalarReader(tmp_path)
    news = reader.read_new()["."]
    assert news.skipped["histogram"] == 6 and news.skipped["image"] == 5
    assert reader.media().is_empty


def tensor(*fields: tuple[int, bytes]) -> bytes:
    return b"".join(
        wire.varint(number << 3 | 2) + wire.varint(len(data)) + data for number, data in fields
    )


def test_histograms_of_tensors_are_read() -> None:
    rows = struct.pack("<6d", 0, 1, 3, 1, 2, 4)
    for place in (4, 6):
        message = b"\x08\x02" + tensor((place, rows))
        assert histogram_tensor(message, 7) == Histogram(7, (0, 1, 2), (3, 4))
    assert picture_tensor(b"\x08\x07" + tensor((8, b"12"), (8, b"8"), (8, b"png")), 5) == Picture(
        5, b"png"
    )
    assert picture_tensor(b"\x08\x07" + tensor((8, b"12")), 5) == Picture(5)


def test_odd_histograms_are_left_out() -> None:
    assert histogram_tensor(b"\x08\x02" + tensor((4, struct.pack("<2d", 0, 1))), 1) is None
    backwards = struct.pack("<6d", 2, 1, 3, 1, 0, 4)
    assert histogram_tensor(b"\x08\x02" + tensor((4, backwards)), 1) is None
    missing = tensor((6, struct.pack("<2d", 1, 2)), (7, struct.pack("<1d", 1)))
    assert histogram_value(missing, 1) is None
    with pytest.raises(wire.WireError):
        histogram_value(tensor((6, b"\0" * 9)), 1)
    with pytest.raises(wire.WireError):
        histogram_value(tensor((6, b"\0" * 8 * 100_000)), 1)


def test_of_very_many_some_are_kept_the_last_among_them() -> None:
    media = Media()
    for step in range(5 * MOST_HISTOGRAMS):
        media.add_histogram("h", Histogram(step, (0.0, 1.0), (1.0,)))
        media.add_picture("p", Picture(step, b"x" * 7_000_000))
    view = media.view("run/")
    steps = [one.step for one in view.histograms["run/h"]]
    assert len(steps) <= MOST_HISTOGRAMS and steps[-1] == 5 * MOST_HISTOGRAMS - 1
    assert sum(len(one.data) for one in view.pictures["run/p"]) <= 64_000_000
    media.add_picture("p", Picture(0, b"x" * 9_000_000))
    assert len(media.view().pictures["p"]) == len(view.pictures["run/p"]), "one is too large"
    media.rewind(10)
    assert not media.view().histograms.get("h") or media.view().histograms["h"][-1].step < 10
