"""Videos: decoded again with PyAV."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import av
import numpy as np
import pytest

from cleanrl_worker.environments.rendering import Frame, VideoWriter
from mosaic.errors import DependencyError, WorkerError


def frame(height: int, width: int, brightness: int) -> Frame:
    return np.full((height, width, 3), brightness, np.uint8)


def decoded(path: Path) -> list[Frame]:
    with av.open(str(path)) as container:
        pictures = container.decode(video=0)
        return [picture.to_ndarray(format="rgb24").astype(np.uint8) for picture in pictures]


def test_every_frame_comes_back_in_order(tmp_path: Path) -> None:
    path = tmp_path / "videos" / "episode-0.mp4"
    with VideoWriter(path, fps=30) as writer:
        for index in range(40):
            writer.add(frame(64, 96, index * 6))
    pictures = decoded(path)
    assert len(pictures) == 40
    assert pictures[0].shape == (64, 96, 3)
    brightness = [float(picture.mean()) for picture in pictures]
    assert np.allclose(brightness, np.arange(40) * 6, atol=6)
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert stream.average_rate == 30


@pytest.mark.parametrize(("height", "width"), [(65, 97), (1, 1), (210, 160), (64, 33)])
def test_odd_sizes_are_padded_to_even_ones(tmp_path: Path, height: int, width: int) -> None:
    path = tmp_path / "video.mp4"
    with VideoWriter(path, fps=12.5) as writer:
        for _ in range(3):
            writer.add(frame(height, width, 200))
    pictures = decoded(path)
    assert len(pictures) == 3
    assert pictures[0].shape == (height + height % 2, width + width % 2, 3)


def test_frames_of_another_size_do_not_end_the_video(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    with VideoWriter(path, fps=10) as writer:
        writer.add(frame(32, 32, 10))
        writer.add(frame(64, 16, 10))
    assert [picture.shape for picture in decoded(path)] == [(32, 32, 3)] * 2


def test_a_video_has_its_name_only_once_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "video.mp4"
    writer = VideoWriter(path, fps=10)
    writer.add(frame(32, 32, 10))
    assert not path.exists()
    writer.close()
    writer.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["video.mp4"]


def test_without_a_frame_there_is_no_file(tmp_path: Path) -> None:
    VideoWriter(tmp_path / "video.mp4", fps=10).close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "bad", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3)), None]
)
def test_what_is_no_picture_is_refused(tmp_path: Path, bad: Frame) -> None:
    with pytest.raises(WorkerError, match="uint8"):
        VideoWriter(tmp_path / "video.mp4", fps=10).add(bad)


def test_missing_package_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(DependencyError) as missing:
        VideoWriter(tmp_path / "video.mp4", fps=10)
    assert missing.value.hint == 'pip install "mosaic-rl[video]"'


def test_a_full_disk_costs_the_video_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    writer = VideoWriter(Path("/dev/full/video.mp4"), fps=10)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            writer.add(frame(32, 32, 10))
        writer.close()
    assert [record.message for record in caplog.records] == ["video.write_failed"]

    half = VideoWriter(tmp_path / "video.mp4", fps=10)
    half.add(frame(32, 32, 10))
    (tmp_path / "video.mp4").mkdir()  # the name cannot be taken any more
    half.close()
    assert [entry.name for entry in tmp_path.iterdir()] == ["video.mp4"]
