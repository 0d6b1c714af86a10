"""What is recorded and for how long, with a recorder that only counts."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import cast

import pytest

from mosaic.contracts.manifest import read_manifest
from mosaic.errors import DependencyError, WorkerError
from mosaic.fastlane.tiling import Picture
from mosaic.frames.recorder import Movie, Recorder
from mosaic.frames.videos import MOST_FRAMES, ClipFolder, ClipSeries, SingleVideo
from tests.unit.frames.pictures import drawn

RED = drawn("R")


class CountingRecorder:
    """Finishes a file as soon as it is ended; drops every frame for which `is_slow` is set."""

    def __init__(self) -> None:
        self.dropped = 0
        self.is_slow = self.has_died = False
        self.error = ""
        self._open: Path | None = None
        self._frames = 0
        self._done: list[Movie] = []

    def begin(self, path: Path) -> None:
        assert self._open is None
        self._open, self._frames = path, 0

    def add(self, picture: Picture, at_s: float) -> bool:
        assert self._open is not None
        self.dropped += self.is_slow
        self._frames += not self.is_slow
        return not self.is_slow

    def end(self) -> None:
        if self._open is not None:
            if not self.error and self._frames:
                self._open.write_bytes(b"a video")
            self._done.append(Movie(self._open, self._frames, 2, 2, 1.0, self.error))
            self._open = None

    def done(self) -> list[Movie]:
        done, self._done = self._done, []
        return done

    def close(self) -> list[Movie]:
        self.end()
        return self.done()


@pytest.fixture
def recorder() -> CountingRecorder:
    return CountingRecorder()


def one_movie(
    recorder: CountingRecorder, path: Path, frames: int | None, seconds: float | None
) -> SingleVideo:
    return SingleVideo(cast(Recorder, recorder), path, frames, seconds)


def test_a_video_of_so_many_frames(recorder: CountingRecorder, tmp_path: Path) -> None:
    movie = one_movie(recorder, tmp_path / "a.mp4", 3, None)
    assert [movie.take(RED, number) for number in range(3)] == [False, False, True]
    assert "3 frames of 2x2" in movie.close()


def test_seconds_count_from_the_first_frame(recorder: CountingRecorder, tmp_path: Path) -> None:
    movie = one_movie(recorder, tmp_path / "a.mp4", None, 2.0)
    assert not movie.take(None, 0.0)
    assert not movie.take(None, 100.0)
    assert not movie.take(RED, 100.5)
    assert not movie.take(None, 102.4)
    assert movie.take(RED, 102.6)
    assert "1 frames" in movie.close()


def test_dropped_frames_are_told_and_do_not_count(
    recorder: CountingRecorder, tmp_path: Path
) -> None:
    movie = one_movie(recorder, tmp_path / "a.mp4", 2, None)
    movie.take(RED, 0)
    recorder.is_slow = True
    assert not movie.take(RED, 1)
    recorder.is_slow = False
    assert movie.take(RED, 2)
    assert movie.close().endswith("; 1 frames dropped, the encoder was slower")


def test_a_video_without_frames_is_an_error(recorder: CountingRecorder, tmp_path: Path) -> None:
    movie = one_movie(recorder, tmp_path / "a.mp4", 2, None)
    with pytest.raises(WorkerError, match="no frame to record"):
        movie.close()


def test_a_dead_encoder_ends_the_recording(recorder: CountingRecorder, tmp_path: Path) -> None:
    movie = one_movie(recorder, tmp_path / "a.mp4", None, 60.0)
    assert not movie.take(RED, 0)
    recorder.has_died, recorder.error = True, "the encoder ended with status -9"
    assert movie.take(None, 1)
    with pytest.raises(WorkerError, match="ended with status -9"):
        movie.close()


@pytest.fixture
def folder(tmp_path: Path) -> ClipFolder:
    made = ClipFolder(tmp_path, "RUN", "w")
    made.path.mkdir()
    return made


def clips_in(folder: ClipFolder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir())


def test_clips_follow_each_other_and_the_newest_stay(
    recorder: CountingRecorder, folder: ClipFolder
) -> None:
    clips = ClipSeries(cast(Recorder, recorder), folder, keep=2)
    for number in range(3 * MOST_FRAMES + 1):
        assert not clips.take(RED, number)
    assert clips_in(folder) == ["clip-0002.mp4", "clip-0003.mp4"]
    assert clips.close() == f"4 clips with 601 frames in {folder.path}"
    assert clips_in(folder) == ["clip-0003.mp4", "clip-0004.mp4"]


def test_a_clip_begins_with_a_frame(recorder: CountingRecorder, folder: ClipFolder) -> None:
    clips = ClipSeries(cast(Recorder, recorder), folder, keep=2)
    assert not clips.take(None, 0)
    assert clips.close().startswith("0 clips")
    assert clips_in(folder) == []


def test_numbers_go_on_where_the_last_recording_ended(
    recorder: CountingRecorder, folder: ClipFolder
) -> None:
    (folder.path / "clip-0041.mp4").write_bytes(b"old")
    clips = ClipSeries(cast(Recorder, recorder), folder, keep=20)
    clips.take(RED, 0)
    clips.close()
    assert clips_in(folder) == ["clip-0041.mp4", "clip-0042.mp4"]


def test_an_interrupt_between_deleting_and_listing_leaves_a_true_list(
    recorder: CountingRecorder, folder: ClipFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    clips = ClipSeries(cast(Recorder, recorder), folder, keep=1)

    def interrupt(clips_kept: int) -> list[str]:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(folder, "retain", interrupt)
        for number in range(MOST_FRAMES):
            clips.take(RED, number)
    clips.close()
    manifest = read_manifest(folder.path.parent / "analytics.json")
    assert manifest is not None and manifest.videos == ("videos/clip-0001.mp4",)


def test_an_encoder_that_fails_ends_the_recording_with_its_reason(
    recorder: CountingRecorder, folder: ClipFolder
) -> None:
    clips = ClipSeries(cast(Recorder, recorder), folder, keep=20)
    recorder.error = "OSError: no space left"
    for number in range(MOST_FRAMES - 1):
        assert not clips.take(RED, number)
    assert clips.take(RED, MOST_FRAMES)
    with pytest.raises(WorkerError, match="no space left"):
        clips.close()


def test_without_pyav_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(DependencyError) as caught:
        Recorder(30)
    assert caught.value.hint == 'pip install "mosaic-rl[video]"'
