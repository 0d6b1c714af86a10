"""What `mosaic frames` understands, and what it refuses before anything starts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.commands.frames import LiveFrames, frames, local_directory, watched_slots
from mosaic.cli.main import build_parser, main
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.errors import RequestError
from mosaic.fastlane.viewer import View, Viewer


def parsed(*words: str) -> argparse.Namespace:
    return build_parser().parse_args(["frames", "latest", *words])


def test_defaults() -> None:
    arguments = parsed()
    assert (arguments.fps, arguments.style, arguments.keep) == (30.0, "auto", 20)
    assert arguments.handler is frames


def test_slots() -> None:
    assert watched_slots(parsed()) == (0, 8)
    assert watched_slots(parsed("--grid", "8")) == (0, 8)
    assert watched_slots(parsed("--slot", "3")) == (3, 1)
    assert watched_slots(parsed("--slot", "0")) == (0, 1)


@pytest.mark.parametrize(
    "words",
    [
        ("--slot", "1", "--grid", "2"),
        ("--png", "a", "--mp4", "b"),
        ("--once", "--record"),
        ("--mp4", "a", "--seconds", "1", "--frames", "2"),
        ("--fps", "0"),
        ("--fps", "nan"),
        ("--grid", "0"),
        ("--keep", "0"),
        ("--style", "paint"),
    ],
)
def test_what_makes_no_sense_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(RequestError):
        parsed(*words)


def test_without_a_terminal_it_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frames", "latest"]) == 2
    error = capsys.readouterr().err
    assert "the output is none" in error
    assert "--png FILE" in error and "--mp4 FILE" in error


@pytest.mark.parametrize("words", [("--seconds", "3"), ("--png", "a.png", "--frames", "3")])
def test_a_length_needs_a_video(words: tuple[str, ...]) -> None:
    with pytest.raises(RequestError, match="go with --mp4"):
        frames(parsed(*words))


def test_a_folder_that_is_missing_is_noticed_at_once(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="There is no folder"):
        frames(parsed("--png", str(tmp_path / "missing" / "a.png")))


def test_a_negative_slot_is_refused() -> None:
    with pytest.raises(RequestError, match="--slot: -1 is less than 0"):
        frames(parsed("--slot", "-1"))


def record(**paths: str) -> RunRecord:
    return RunRecord("RUN", "name", "w", RunState.EXEC, None, 1, 0, 0.0, 0.0, paths=paths)


def test_a_run_of_this_machine_has_its_directory_here(tmp_path: Path) -> None:
    assert local_directory(record(run_directory=str(tmp_path))) == tmp_path


def test_a_run_of_another_machine_is_refused_with_the_reason(tmp_path: Path) -> None:
    for paths in ({}, {"run_directory": str(tmp_path / "elsewhere")}):
        with pytest.raises(RequestError, match="cannot be relayed yet"):
            local_directory(record(**paths))


class LostFate:
    """Of a run whose daemon is gone."""

    is_over, is_unknown = False, True


@pytest.mark.parametrize(
    ("status", "is_enough"),
    [
        ("live", False),
        ("paused", False),
        ("stalled", False),
        ("ended", True),
        ("broken", True),
        ("waiting", True),
    ],
)
def test_without_a_daemon_only_what_goes_on_is_watched(
    status: str, is_enough: bool, tmp_path: Path
) -> None:
    fate: Any = LostFate()
    view = LiveFrames(Viewer(tmp_path / "none"), fate, parsed(), None)
    assert view._is_enough(View(status)) is is_enough
