"""The line a person watches, and what interrupts it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from cleanrl_worker.kit.reporting import TerminalReporter, progress_line
from mosaic.worker.control import Control


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def finish_episode(reporter: TerminalReporter, total_reward: float) -> None:
    reporter.episode(
        episode_index=0, total_reward=total_reward, steps=1, terminated=True, truncated=False
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((0, 1000, 0, 1.0, []), "step 0/1,000 (0%)"),
        (
            (250, 1000, 0, 0.5, [10.0, 20.0]),
            "step 250/1,000 (25%)  return 15.0  500 steps/s  1 s left",
        ),
        ((1000, 1000, 0, 2.0, [1.0]), "step 1,000/1,000 (100%)  return 1.0  500 steps/s"),
        # Resumed at 900: the speed is that of this process.
        ((950, 1000, 900, 1.0, []), "step 950/1,000 (95%)  50 steps/s  1 s left"),
        (
            (100, 1_000_000, 0, 1.0, []),
            "step 100/1,000,000 (0%)  100 steps/s  2 h 46 min left",
        ),
        ((100, 10_000, 0, 1.0, []), "step 100/10,000 (1%)  100 steps/s  1 min 39 s left"),
    ],
)
def test_progress_line(arguments: tuple[int, int, int, float, list[float]], line: str) -> None:
    assert progress_line(*arguments) == line


def test_live_line_is_overwritten_and_not_written_too_often() -> None:
    terminal, clock = Terminal(), Clock()
    reporter = TerminalReporter(Control(), terminal, clock)
    reporter.progress(steps=0, total_steps=100)
    for steps in range(1, 50):
        clock.now += 0.001
        reporter.progress(steps=steps)
    assert terminal.getvalue().count("\r") == 1
    clock.now += 1.0
    finish_episode(reporter, 7.0)
    reporter.progress(steps=60)
    last = terminal.getvalue().rpartition("\r")[2]
    assert last.startswith("step 60/100 (60%)  return 7.0")


def test_events_do_not_tear_the_live_line() -> None:
    terminal = Terminal()
    reporter = TerminalReporter(Control(), terminal, Clock())
    reporter.progress(steps=5, total_steps=100)
    reporter.checkpoint_saved(Path("a.cleanrl_model"), 5, metric=3.25, is_best=True)
    reporter.note("device: cpu")
    reporter.checkpoint_loaded(Path("b"), 4)
    lines = [line.rpartition("\r")[2].rstrip() for line in terminal.getvalue().split("\n")]
    assert lines[0] == "checkpoint at step 5, return 3.2 (best): a.cleanrl_model"
    assert lines[1:3] == ["device: cpu", "resumed at step 4 from b"]


def test_log_file_gets_whole_lines() -> None:
    stream, clock = io.StringIO(), Clock()
    reporter = TerminalReporter(Control(), stream, clock)
    reporter.progress(steps=0, total_steps=10)
    clock.now += 60.0
    reporter.progress(steps=10)
    reporter.close()
    assert "\r" not in stream.getvalue()
    assert stream.getvalue().splitlines()[0] == "step 0/10 (0%)"


def test_request_to_stop_is_passed_on_and_announced_once() -> None:
    stream, control = io.StringIO(), Control()
    reporter = TerminalReporter(control, stream)
    assert not reporter.should_stop()
    control.request_stop("sigint")
    assert reporter.should_stop() and reporter.should_stop()
    assert stream.getvalue().count("stopping") == 1
