"""Videos: which there are, where one is in them, and what becomes of broken ones."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mosaic.errors import StoreError
from mosaic.gui.videos.model import Playback, VideoReader, caption, list_videos, probe, time_text
from tests.unit.gui.run_samples import over
from tests.unit.gui.video_samples import write_video

pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")


def test_a_video_is_read_to_its_end_and_from_any_place(tmp_path: Path) -> None:
    reader = VideoReader(write_video(tmp_path / "v.mp4", frames=30, fps=10))
    assert reader.duration_s == pytest.approx(3.0, abs=0.11)
    frames = []
    while batch := reader.read(8):
        frames += batch
    assert len(frames) == 30
    assert [frame.at_s for frame in frames] == sorted(frame.at_s for frame in frames)
    again = reader.read_from(1.55, 4)
    assert len(again) == 4 and again[0].at_s == pytest.approx(1.5)
    assert len(reader.read_from(99.0, 4)) == 1  # the last picture
    reader.close()


def test_a_reader_that_is_closed_while_others_read_gives_them_what_is_whole(tmp_path: Path) -> None:
    path = write_video(tmp_path / "v.mp4", frames=30, fps=10)
    for _ in range(5):
        reader = VideoReader(path)
        with ThreadPoolExecutor(4) as pool:
            reading = [pool.submit(reader.read_from, 0.2 * place, 12) for place in range(12)]
            reading[0].result()
            reader.close()
            counts = {len(each.result()) for each in reading}
        assert counts <= {0, *range(8, 13)}  # all of them, up to the end, or nothing
        assert reader.read(4) == reader.read_from(0.0, 4) == []


def test_the_first_picture_is_small_and_the_size_is_known(tmp_path: Path) -> None:
    found = probe(write_video(tmp_path / "v.mp4", size=(320, 240)))
    assert (found.width, found.height) == (320, 240)
    assert (found.thumbnail.width, found.thumbnail.height) == (96, 72)
    assert len(found.thumbnail.pixels) == 96 * 72 * 3


@pytest.mark.parametrize("content", [b"", b"no video at all" * 100])
def test_a_damaged_file_is_a_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "broken.mp4"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"broken\.mp4 cannot be played"):
        probe(path)


def test_a_file_that_was_cut_is_a_sentence(tmp_path: Path) -> None:
    path = write_video(tmp_path / "cut.mp4")
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(StoreError, match="damaged, or not finished"):
        probe(path)


def test_a_file_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is gone"):
        VideoReader(tmp_path / "none.mp4")


def test_videos_are_listed_newest_first_and_only_from_inside_the_run(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (tmp_path / "secret.mp4").write_bytes(b"x")
    for number in (8, 27):
        (run / f"episode-{number}.mp4").write_bytes(b"x" * number)
        os.utime(run / f"episode-{number}.mp4", (1000, 1000))
    names = ["episode-8.mp4", "episode-27.mp4", "gone.mp4", "../secret.mp4"]
    found = list_videos(over(paths={"run_directory": str(run)}, manifest={"videos": names}))
    assert [video.title for video in found] == ["Episode 27", "Episode 8"]
    assert caption(found[0], None).startswith("27 B · ")


def test_playback_follows_the_clock_and_its_speed() -> None:
    playback = Playback(10.0)
    playback.play(100.0)
    playback.advance(101.0)
    assert playback.position_s == pytest.approx(1.0)
    playback.speed = 4.0
    playback.advance(102.0)
    assert playback.position_s == pytest.approx(5.0)
    playback.pause()
    playback.advance(200.0)
    assert playback.position_s == pytest.approx(5.0)


def test_playback_stops_at_the_end_and_starts_again_from_there() -> None:
    playback = Playback(2.0)
    playback.play(0.0)
    assert not playback.advance(5.0)
    assert not playback.is_playing and playback.position_s == 2.0
    assert playback.play(6.0) and playback.position_s == 0.0


def test_a_loop_begins_again_by_itself() -> None:
    playback = Playback(2.0)
    playback.is_looping = True
    playback.play(0.0)
    assert playback.advance(2.5)
    assert playback.is_playing and playback.position_s == 0.0


def test_seeking_stays_inside() -> None:
    playback = Playback(2.0)
    playback.seek(99.0, 0.0)
    assert playback.position_s == 2.0
    playback.seek(-1.0, 0.0)
    assert playback.position_s == 0.0


def test_times_are_minutes_and_seconds() -> None:
    assert [time_text(seconds) for seconds in (0, 7.9, 750)] == ["0:00", "0:07", "12:30"]
