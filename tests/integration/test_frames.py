"""`mosaic frames` against real runs that show frames, in a real (pseudo-)terminal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mosaic.fastlane.segment import segment_path
from mosaic.files import read_json
from mosaic.processes import stat_fields
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.integration.pseudo_terminal import PseudoTerminal, pseudo_terminal
from tests.integration.showing_program import BLUE, RED
from tests.unit.frames.pictures import read_png
from tests.waiting import PATIENCE_S, wait_until

ROOT = Path(__file__).resolve().parents[2]
ENTERED, LEFT = "\x1b[?1049h", "\x1b[?25h\x1b[?1049l"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon(PYTHONPATH=str(ROOT)) as harness:
        yield harness


@contextmanager
def showing(daemon: DaemonHarness, *arguments: object) -> Iterator[str]:
    """The id of a run that shows frames when somebody watches."""
    words = ["-m", "tests.integration.showing_program", *(str(word) for word in arguments)]
    # Programs of tests are found where these tests are.
    environment = {"PYTHONPATH": str(ROOT), "CLEANRL_FASTLANE_INTERVAL_MS": "5"}
    run_id = daemon.submit(entry_point=sys.executable, arguments=words, environment=environment)
    try:
        wait_until(segment_path(run_id).exists, what="the run's segment")
        yield run_id
    finally:
        if not daemon.client.get_run(run_id).is_over:
            daemon.client.stop_run(run_id, grace_s=0)
        daemon.wait_over(run_id)
        assert not segment_path(run_id).exists()


@pytest.fixture(scope="module")
def run(daemon: DaemonHarness) -> Iterator[str]:
    with showing(daemon, 120, 80, 1) as run_id:
        yield run_id


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "mosaic.cli", "frames", *words]


def environment_of(daemon: DaemonHarness, **changes: str) -> dict[str, str]:
    plain = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONWARNINGS": "error"}
    unwanted = ("NO_COLOR", "KITTY_WINDOW_ID", "TMUX", "STY")
    inherited = {k: v for k, v in daemon.environment.items() if k not in unwanted}
    return {**inherited, **plain, **changes}


def mosaic_frames(daemon: DaemonHarness, *words: str, status: int = 0) -> str:
    done = subprocess.run(
        command(*words),
        env=environment_of(daemon),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


# In a terminal


@contextmanager
def watching(
    daemon: DaemonHarness, terminal: PseudoTerminal, *words: str, **changes: str
) -> Iterator[subprocess.Popen[bytes]]:
    process = terminal.start(command(*words), environment_of(daemon, **changes))
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE_S)


def assert_restored(terminal: PseudoTerminal, mode: list[Any]) -> None:
    wait_until(lambda: LEFT in terminal.output, what="the terminal to be given back")
    assert terminal.output.rindex(LEFT) > terminal.output.rindex(ENTERED)
    assert terminal.mode == mode


def test_the_picture_and_the_numbers_are_shown(daemon: DaemonHarness, run: str) -> None:
    with pseudo_terminal() as terminal:
        mode = terminal.mode
        with watching(daemon, terminal, run, "--style", "blocks") as process:
            terminal.wait_for("48;2;20;60;200")
            terminal.wait_for("220;30;30")
            terminal.wait_for("live  1 env  step ")
            assert "return 42.5" in terminal.output
            terminal.press(b"q")
            assert process.wait(PATIENCE_S) == 0
        assert_restored(terminal, mode)
        # What is left on the screen afterwards is the last line.
        assert "live  1 env  step " in terminal.output[terminal.output.rindex(LEFT) :]


def test_only_what_changed_is_drawn(daemon: DaemonHarness, run: str) -> None:
    with pseudo_terminal() as terminal, watching(daemon, terminal, run, "--style", "blocks"):
        terminal.wait_for("220;30;30")
        terminal.wait_for("live")
        terminal.forget()
        terminal.wait_for("220;30;30")
        updates = terminal.output.split("\x1b[?2026h")
        # The square covers a quarter of 23 rows and little of their width.
        assert all(update.count("▀") < 400 for update in updates)
        assert "\x1b[2J" not in terminal.output


@pytest.mark.parametrize(
    ("style", "changes", "sign"),
    [
        ("ascii", {}, "\x1b[2;1H"),
        ("kitty", {}, "\x1b_Ga=T,f=24,o=z"),
        ("sixel", {}, "\x1bP0;1q"),
        ("auto", {"COLORTERM": ""}, "48;5;"),
        ("auto", {"TERM": "xterm-kitty"}, "\x1b_Ga=T"),
        ("auto", {"NO_COLOR": "1"}, "\x1b[2;1H"),
    ],
)
def test_every_style_draws(
    daemon: DaemonHarness, run: str, style: str, changes: dict[str, str], sign: str
) -> None:
    with pseudo_terminal() as terminal:
        mode = terminal.mode
        with watching(daemon, terminal, run, "--style", style, **changes) as process:
            terminal.wait_for(sign)
            terminal.wait_for("live")
            terminal.press(b"q")
            assert process.wait(PATIENCE_S) == 0
        assert_restored(terminal, mode)


def test_a_terminal_that_says_so_gets_sixels(daemon: DaemonHarness, run: str) -> None:
    with pseudo_terminal() as terminal:
        terminal.answer(b"\x1b[c", b"\x1b[?62;4;22c")
        mode = terminal.mode
        with watching(daemon, terminal, run) as process:
            terminal.wait_for("\x1bP0;1q")
            terminal.press(b"q")
            assert process.wait(PATIENCE_S) == 0
        assert_restored(terminal, mode)


def test_ctrl_c_gives_the_terminal_back(daemon: DaemonHarness, run: str) -> None:
    with pseudo_terminal() as terminal:
        mode = terminal.mode
        with watching(daemon, terminal, run) as process:
            terminal.wait_for("live")
            terminal.press(b"\x03")
            assert process.wait(PATIENCE_S) == 130
        assert_restored(terminal, mode)
        assert "Traceback" not in terminal.output


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_give_the_terminal_back(
    daemon: DaemonHarness, run: str, number: signal.Signals
) -> None:
    with pseudo_terminal() as terminal:
        mode = terminal.mode
        with watching(daemon, terminal, run) as process:
            terminal.wait_for("live")
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == 128 + number
        assert_restored(terminal, mode)


def test_ctrl_z_gives_the_terminal_back_and_later_takes_it_again(
    daemon: DaemonHarness, run: str
) -> None:
    with pseudo_terminal() as terminal:
        mode = terminal.mode
        with watching(daemon, terminal, run) as process:
            terminal.wait_for("live")
            terminal.press(b"\x1a")
            wait_until(
                lambda: (stat_fields(process.pid) or "?")[0] == "T", what="a stopped process"
            )
            assert_restored(terminal, mode)
            terminal.forget()
            process.send_signal(signal.SIGCONT)
            terminal.wait_for(ENTERED)
            terminal.wait_for("live")
            terminal.press(b"q")
            assert process.wait(PATIENCE_S) == 0
        assert_restored(terminal, mode)


def test_another_size_of_the_terminal_is_followed(daemon: DaemonHarness, run: str) -> None:
    with (
        pseudo_terminal(80, 24) as terminal,
        watching(daemon, terminal, run, "--style", "blocks"),
    ):
        terminal.wait_for("\x1b[24;1H\x1b[2Klive")
        terminal.forget()
        terminal.resize(40, 40)
        # 120x80 in 40 columns: 14 rows of cells, and the line below them.
        terminal.wait_for("\x1b[2J")
        terminal.wait_for("\x1b[15;1H\x1b[2Klive")


def test_a_killed_writer_is_shown_as_ended(daemon: DaemonHarness) -> None:
    with showing(daemon, 60, 40, 1) as run_id, pseudo_terminal() as terminal:
        mode = terminal.mode
        with watching(daemon, terminal, run_id) as process:
            terminal.wait_for("live")
            live = read_json(daemon.home.run(run_id).attempt(1).live)
            assert live is not None
            os.kill(live["worker"]["pid"], signal.SIGKILL)
            terminal.wait_for("ended: the process that showed this is over")
            assert process.wait(PATIENCE_S) == 0
        assert_restored(terminal, mode)


def test_a_run_that_shows_nothing_yet_is_waited_for(daemon: DaemonHarness) -> None:
    words = ["-c", "import time; time.sleep(600)"]
    run_id = daemon.submit(entry_point=sys.executable, arguments=words)
    try:
        with pseudo_terminal() as terminal, watching(daemon, terminal, run_id) as process:
            terminal.wait_for("waiting: the run has shown nothing yet")
            daemon.client.stop_run(run_id, grace_s=0)
            assert process.wait(PATIENCE_S) == 0
            assert LEFT in terminal.output
    finally:
        daemon.wait_over(run_id)


# Files


def test_a_png_has_the_frame_of_the_moment(daemon: DaemonHarness, run: str, tmp_path: Path) -> None:
    path = tmp_path / "frame.png"
    out = mosaic_frames(daemon, run, "--png", str(path))
    assert out == f"{path}: 120x80\n"
    picture = read_png(path.read_bytes())
    assert (picture.width, picture.height) == (120, 80)
    pixels = {picture.pixels[at : at + 3] for at in range(0, len(picture.pixels), 3)}
    assert pixels == {bytes(BLUE), bytes(RED)}


def test_several_environments_are_tiles(daemon: DaemonHarness, tmp_path: Path) -> None:
    with showing(daemon, 60, 40, 3) as run_id:
        path = tmp_path / "grid.png"
        mosaic_frames(daemon, run_id, "--png", str(path))
        assert read_png(path.read_bytes())[:2] == (184, 40)
        mosaic_frames(daemon, run_id, "--slot", "2", "--png", str(path))
        assert read_png(path.read_bytes())[:2] == (60, 40)


def test_once_prints_a_picture(daemon: DaemonHarness, run: str) -> None:
    out = mosaic_frames(daemon, run, "--once", "--style", "ascii")
    lines = out.splitlines()
    assert lines[-1].startswith("live  1 env")
    assert len(lines) > 10 and all(len(line) <= 80 for line in lines[:-1])


def decoded(path: Path) -> tuple[Any, list[Any]]:
    """(stream, frames)"""
    av = pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert (stream.codec_context.name, stream.pix_fmt) == ("h264", "yuv420p")
        return stream, list(container.decode(stream))


def test_an_mp4_has_so_many_frames(daemon: DaemonHarness, tmp_path: Path) -> None:
    pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")
    with showing(daemon, 61, 41, 1) as run_id:
        path = tmp_path / "video.mp4"
        out = mosaic_frames(daemon, run_id, "--mp4", str(path), "--frames", "20")
    assert f"{path}: 20 frames of 62x42" in out
    _, frames = decoded(path)
    assert len(frames) == 20
    assert [frame.width for frame in frames] == [62] * 20
    assert list(tmp_path.iterdir()) == [path]


def test_an_mp4_lasts_so_many_seconds(daemon: DaemonHarness, run: str, tmp_path: Path) -> None:
    pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")
    path = tmp_path / "video.mp4"
    mosaic_frames(daemon, run, "--mp4", str(path), "--seconds", "1")
    _, frames = decoded(path)
    assert len(frames) > 1
    assert frames[-1].time < 1.1


def test_a_video_is_recorded_while_it_is_shown(
    daemon: DaemonHarness, run: str, tmp_path: Path
) -> None:
    pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")
    path = tmp_path / "video.mp4"
    with pseudo_terminal() as terminal:
        mode = terminal.mode
        with watching(daemon, terminal, run, "--mp4", str(path), "--frames", "10") as process:
            terminal.wait_for("recording, ")
            assert process.wait(PATIENCE_S) == 0
        assert_restored(terminal, mode)
        assert f"{path}: 10 frames of 120x80" in terminal.output
    assert len(decoded(path)[1]) == 10


def test_clips_are_recorded_listed_and_the_oldest_deleted(daemon: DaemonHarness) -> None:
    pytest.importorskip("av", reason="PyAV (extra `video`) is not installed")
    with showing(daemon, 16, 16, 1) as run_id:
        directory = daemon.home.run(run_id).directory
        videos = directory / "videos"
        videos.mkdir()
        for number in (1, 2):
            (videos / f"clip-{number:04d}.mp4").write_bytes(b"an old one")
        words = command(run_id, "--record", "--fps", "100", "--keep", "2")
        with subprocess.Popen(
            words, env=environment_of(daemon), stdout=subprocess.PIPE, text=True
        ) as process:
            wait_until((videos / "clip-0003.mp4").exists, what="the first clip")
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=PATIENCE_S)
            assert process.returncode == 0
        assert "frames in" in out
        kept = sorted(path.name for path in videos.iterdir())
        assert len(kept) == 2 and "clip-0001.mp4" not in kept
        manifest = json.loads((directory / "analytics.json").read_text())
        assert manifest["videos"] == [f"videos/{name}" for name in kept]
        lengths = [len(decoded(videos / name)[1]) for name in kept if name != "clip-0002.mp4"]
        assert max(lengths) == 200


# What goes wrong


def test_a_broken_segment_is_a_sentence(daemon: DaemonHarness, tmp_path: Path) -> None:
    with showing(daemon, 60, 40, 1) as run_id:
        with open(segment_path(run_id), "r+b") as segment:
            segment.write(b"garbage!")
        out = mosaic_frames(daemon, run_id, "--png", str(tmp_path / "a.png"), status=5)
        assert "cannot be read: it does not start as a FastLane segment does" in out
        with pseudo_terminal() as terminal, watching(daemon, terminal, run_id) as process:
            terminal.wait_for("broken: mosaic.fastlane.")
            terminal.press(b"q")
            assert process.wait(PATIENCE_S) == 0
            assert "Traceback" not in terminal.output


def test_a_run_that_is_over_is_a_sentence(daemon: DaemonHarness, tmp_path: Path) -> None:
    run_id = daemon.submit()
    daemon.wait_over(run_id)
    out = mosaic_frames(daemon, run_id, "--png", str(tmp_path / "a.png"), status=5)
    assert "is over; frames can be seen only while it runs" in out


def test_no_frame_in_time_is_a_sentence(daemon: DaemonHarness, run: str, tmp_path: Path) -> None:
    words = ("--slot", "3", "--wait", "0.3", "--png", str(tmp_path / "a.png"))
    out = mosaic_frames(daemon, run, *words, status=5)
    assert "No frame within 0.3 s: no environment has been stepped yet" in out
    assert not list(tmp_path.iterdir())


def test_an_unknown_run_is_a_sentence(daemon: DaemonHarness, tmp_path: Path) -> None:
    out = mosaic_frames(daemon, "nothing-like-it", "--png", str(tmp_path / "a.png"), status=4)
    assert "There is no run 'nothing-like-it'" in out
