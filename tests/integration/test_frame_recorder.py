"""The recorder and the process that encodes for it: slow, killed, orphaned, and as it should be."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.fastlane.tiling import Picture
from mosaic.frames.recorder import Movie, Recorder
from mosaic.processes import stat_fields
from tests.waiting import wait_until

av = pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")

RED, BLUE = (220, 20, 20), (20, 20, 220)


def plain(width: int, height: int, colour: tuple[int, int, int] = RED) -> Picture:
    return Picture(width, height, bytes(colour) * (width * height))


def decoded(path: Path) -> list[Any]:
    with av.open(str(path)) as container:
        return list(container.decode(container.streams.video[0]))


def shade(frame: Any, x: int, y: int) -> str:
    """Which of its channels a pixel has most of; "black" when it has none."""
    plane = frame.reformat(format="rgb24").planes[0]
    at = y * plane.line_size + 3 * x
    pixel = bytes(plane)[at : at + 3]
    return "black" if max(pixel) < 40 else ("red", "green", "blue")[pixel.index(max(pixel))]


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    made = Recorder(30)
    yield made
    made.close(wait_s=5)


def encoder_of(recorder: Recorder) -> subprocess.Popen[bytes]:
    return recorder._process


def test_several_files_one_after_the_other(recorder: Recorder, tmp_path: Path) -> None:
    for number in range(3):
        recorder.begin(tmp_path / f"{number}.mp4")
        for frame in range(number + 1):
            assert recorder.add(plain(32, 16), frame / 30)
        recorder.end()
    movies = recorder.close()
    assert [(movie.path.name, movie.frames, movie.error) for movie in movies] == [
        ("0.mp4", 1, ""),
        ("1.mp4", 2, ""),
        ("2.mp4", 3, ""),
    ]
    assert [len(decoded(movie.path)) for movie in movies] == [1, 2, 3]
    assert encoder_of(recorder).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.mp4", "1.mp4", "2.mp4"]


def test_frames_keep_their_time(recorder: Recorder, tmp_path: Path) -> None:
    recorder.begin(tmp_path / "a.mp4")
    for at_s in (100.0, 100.1, 100.1001, 102.0):
        recorder.add(plain(16, 16), at_s)
    (movie,) = recorder.close()
    times = [frame.time for frame in decoded(movie.path)]
    assert times == pytest.approx([0.0, 3 / 30, 4 / 30, 2.0], abs=0.001)
    assert movie.seconds == pytest.approx(2.0, abs=0.05)


def test_frames_of_another_size_are_fitted_into_the_first(
    recorder: Recorder, tmp_path: Path
) -> None:
    recorder.begin(tmp_path / "a.mp4")
    for number, picture in enumerate(
        (plain(64, 32), plain(200, 200, BLUE), plain(8, 4, BLUE), plain(31, 64, BLUE))
    ):
        recorder.add(picture, number / 30)
    (movie,) = recorder.close()
    assert (movie.width, movie.height, movie.error) == (64, 32, "")
    first, square, same, tall = decoded(movie.path)
    assert {shade(first, x, 16) for x in (2, 32, 61)} == {"red"}
    assert [shade(square, x, 16) for x in (4, 32, 60)] == ["black", "blue", "black"]
    assert [shade(same, x, 16) for x in (4, 32, 60)] == ["blue", "blue", "blue"]
    assert [shade(tall, x, 16) for x in (4, 32, 60)] == ["black", "blue", "black"]


def test_a_file_without_frames_is_not_written(recorder: Recorder, tmp_path: Path) -> None:
    recorder.begin(tmp_path / "a.mp4")
    (movie,) = recorder.close()
    assert (movie.frames, movie.error) == (0, "")
    assert not list(tmp_path.iterdir())


def test_a_folder_that_vanished_fails_that_file_only(recorder: Recorder, tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "a.mp4", tmp_path / "b.mp4"):
        recorder.begin(path)
        recorder.add(plain(16, 16), 0)
        recorder.end()
    failed, written = recorder.close()
    assert "No such file" in failed.error
    assert (written.frames, written.error) == (1, "")


def test_nobody_waits_for_a_slow_encoder(tmp_path: Path) -> None:
    asleep = ("-c", "import time; time.sleep(600)")
    recorder = Recorder(30, command=asleep)
    recorder.begin(tmp_path / "a.mp4")
    picture = plain(1000, 1000)
    started = time.monotonic()
    taken = sum(recorder.add(picture, number) for number in range(1000))
    assert time.monotonic() - started < 60, "the encoder sleeps ten times as long"
    # 32 MB wait for it, and one picture may be on its way.
    assert 9 <= taken <= 12
    assert recorder.dropped == 1000 - taken
    assert recorder.close(wait_s=0.1) == [
        Movie(tmp_path / "a.mp4", error="the encoder did not finish within 0.1 s")
    ]


def test_a_killed_encoder_is_noticed(recorder: Recorder, tmp_path: Path) -> None:
    recorder.begin(tmp_path / "a.mp4")
    recorder.add(plain(64, 64), 0)
    encoder_of(recorder).send_signal(signal.SIGKILL)

    def is_noticed() -> bool:
        recorder.add(plain(64, 64), 1)
        return recorder.has_died

    wait_until(is_noticed, what="the recorder to notice")
    (movie,) = recorder.close()
    assert movie.error == "the encoder ended with status -9"
    assert not (tmp_path / "a.mp4").exists()


PROGRAM = """
import sys, time
from pathlib import Path
from mosaic.fastlane.tiling import Picture
from mosaic.frames.recorder import Recorder

recorder = Recorder(30)
recorder.begin(Path(sys.argv[1]))
for number in range(5):
    recorder.add(Picture(16, 16, bytes(768)), number / 30)
while recorder._waiting:
    time.sleep(0.01)
print(recorder._process.pid, flush=True)
time.sleep(600)
"""


def test_when_the_viewer_is_killed_its_video_is_finished(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    words = [sys.executable, "-c", PROGRAM, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        encoder = int(process.stdout.readline())
        process.kill()
    wait_until(path.exists, what="the video")
    wait_until(lambda: (stat_fields(encoder) or "Z")[0] == "Z", what="the encoder to end")
    # The last one may have been on its way when the viewer died.
    assert len(decoded(path)) in (4, 5)
