"""The strip below the live frames."""

from __future__ import annotations

import math

import pytest

from mosaic.contracts.evaluation_summary import EvaluationBatch
from mosaic.contracts.run_record import Progress
from mosaic.fastlane.layout import EVALUATING
from mosaic.fastlane.slot_writer import Metrics
from mosaic.gui.live.model.hud import (
    batch_line,
    hud_of,
    number_text,
    numbers_line,
    rate_text,
    short_count,
)
from mosaic.gui.state.live_watch import LiveFrames, Tile

BATCH = EvaluationBatch(3, 50, 112.34, 90.1, 142.6)


def frames(*metrics: Metrics, status: str = "live") -> LiveFrames:
    tiles = tuple(Tile(slot, None, each) for slot, each in enumerate(metrics))
    return LiveFrames(status, "", tiles)


def words(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("·")]


def test_counts_add_up_and_rewards_are_means() -> None:
    one = Metrics(1_000_000, 400, 1.0, 500.0, 10_000.0)
    other = Metrics(204_224, 100, 0.0, 474.4, 8_400.0)
    assert words(numbers_line((one, other))) == [
        "step 1,204,224",
        "episode 500",
        "reward 0.500",
        "return 487.2",
        "18.4k/s",
    ]


def test_the_line_does_not_jump_while_numbers_grow() -> None:
    lines = [
        numbers_line([Metrics(steps, episodes, reward, total, rate)])
        for steps, episodes, reward, total, rate in (
            (0, 0, 0.0, 0.0, 0.0),
            (9_999_999, 99_999, -1.0, -500.0, 99_999.0),
            (1_204, 12, 0.25, 9.5, 842.0),
        )
    ]
    assert len({len(line) for line in lines}) == 1
    assert len({line.index("return") for line in lines}) == 1


def test_the_batch_of_an_evaluation() -> None:
    expected = "eval batch 3 · 50 episodes · mean 112.3 · min 90.1 · max 142.6"
    assert batch_line(BATCH) == expected
    hud = hud_of(frames(Metrics(flags=EVALUATING)), BATCH)
    assert hud.about == f"1 env · (Eval) · {expected}"


def test_a_training_says_nothing_of_evaluations() -> None:
    assert hud_of(frames(Metrics(), Metrics())).about == "2 envs"


def test_one_environment_by_itself() -> None:
    hud = hud_of(frames(Metrics(steps=1), Metrics(steps=7)), slot=1)
    assert hud.about == "env 1"
    assert words(hud.numbers)[0] == "step 7"


def test_before_the_first_picture_there_are_no_numbers() -> None:
    hud = hud_of(LiveFrames())
    assert (hud.word, hud.about, hud.numbers) == ("waiting", "", "")


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.0, "0/s"),
        (842.4, "842/s"),
        (999.7, "1.0k/s"),
        (18_412.0, "18.4k/s"),
        (1.23e6, "1.2M/s"),
        (math.nan, "–/s"),
        (-1.0, "–/s"),
    ],
)
def test_rates(rate: float, text: str) -> None:
    assert rate_text(rate) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.5, "0.5"), (-999.94, "-999.9"), (1234.5, "1,234"), (2.5e9, "2.5e+09"), (math.inf, "inf")],
)
def test_figures_of_any_size_stay_short(value: float, text: str) -> None:
    assert number_text(value, 1) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(98_305, "98,305"), (999_999, "999.9k"), (1_204_224, "1.20M"), (3_450_000_000, "3.45G")],
)
def test_long_counts_become_short(number: int, text: str) -> None:
    assert short_count(number) == text


def test_where_there_is_little_room_words_are_shorter() -> None:
    hud = hud_of(frames(Metrics(flags=EVALUATING)), BATCH)
    assert hud.short_about == "(Eval) · batch 3 · 50 ep · mean 112.3 · min 90.1 · max 142.6"
    assert len(hud.short_numbers) < len(hud.numbers)
    assert hud_of(frames(Metrics())).short_about == "1 env"


def test_the_numbers_of_the_run_are_those_of_its_record() -> None:
    progress = Progress(steps=12_000, episodes=300, mean_return=21.25, steps_per_second=950.0)
    hud = hud_of(frames(Metrics(7, 1, 0.5, 99.0, 3.0)), progress=progress)
    assert words(hud.numbers) == [
        "step 12,000",
        "episode 300",
        "reward 0.500",
        "mean(100) 21.2",
        "950/s",
    ]
    assert "mean of the last 100 episodes" in hud.help
    alone = hud_of(frames(Metrics(7, 1, 0.5, 99.0, 3.0)), slot=0, progress=progress)
    assert words(alone.numbers)[:2] == ["step 7", "episode 1"]
