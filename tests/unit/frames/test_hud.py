"""The line below the picture."""

from __future__ import annotations

import math

import pytest

from mosaic.contracts.run_record import Progress
from mosaic.fastlane.layout import EVALUATING
from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.viewer import BROKEN, ENDED, LIVE, PAUSED_NOW, STALLED, WAITING, View
from mosaic.frames.hud import hud_line, slots_text

METRICS = Metrics(1_234_567, 89, -1.5, 195.25, 2345.6)


def test_a_run_that_is_going_shows_its_numbers() -> None:
    assert hud_line(View(LIVE, metrics=(METRICS,)), "env 0") == (
        "live  env 0  step 1,234,567  episode 89  reward -1.5  return 195.2  2,346 steps/s"
    )


@pytest.mark.parametrize("status", [WAITING, PAUSED_NOW, STALLED, ENDED, BROKEN])
def test_what_is_the_matter_is_said(status: str) -> None:
    line = hud_line(View(status, "for some reason", metrics=(METRICS,)), "env 0")
    assert line.startswith(f"{status}: for some reason  env 0  step ")


def test_without_numbers_there_is_only_the_status() -> None:
    assert hud_line(View(WAITING, "nothing yet"), "env 0") == "waiting: nothing yet"


def test_evaluation_is_marked() -> None:
    view = View(LIVE, metrics=(METRICS._replace(flags=EVALUATING),))
    assert hud_line(view, "env 3").startswith("live  (Eval)  env 3  ")


def test_several_environments_are_summed_and_averaged() -> None:
    several = (Metrics(10, 1, 1.0, 10.0, 100.0), Metrics(20, 2, 3.0, 20.0, 200.0))
    assert hud_line(View(LIVE, metrics=several), "2 envs") == (
        "live  2 envs  step 30  episode 3  reward 2  return 15  300 steps/s"
    )


def test_the_numbers_of_a_run_are_those_of_its_record() -> None:
    progress = Progress(steps=5_000, episodes=40, mean_return=123.456, steps_per_second=9_876.5)
    assert hud_line(View(LIVE, metrics=(METRICS,)), "1 env", progress=progress) == (
        "live  1 env  step 5,000  episode 40  reward -1.5  mean(100) 123.5  9,876 steps/s"
    )
    early = hud_line(View(LIVE, metrics=(METRICS,)), "1 env", progress=Progress(steps=5))
    assert early.endswith("step 5  episode 0  reward -1.5  mean(100) –  – steps/s")


def test_a_note_comes_before_what_a_narrow_terminal_cuts_off() -> None:
    line = hud_line(View(LIVE, metrics=(METRICS,)), "env 0", "recording, 3 frames")
    assert line.startswith("live  recording, 3 frames  env 0  step ")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.012345, "0.01235"),
        (999.94, "999.9"),
        (-123456.7, "-123,457"),
        (2e12, "2.000e+12"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_numbers_stay_short(value: float, text: str) -> None:
    view = View(LIVE, metrics=(METRICS._replace(last_reward=value),))
    assert f"  reward {text}  " in hud_line(view, "env 0")


def test_what_is_watched_has_a_name() -> None:
    assert slots_text(2, 1, 1) == "env 2"
    assert slots_text(0, 4, 1) == "1 env"
    assert slots_text(0, 8, 3) == "3 envs"
