"""The view at natural speed: its pace, its words, and which episode it shows next."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from mosaic.contracts.evaluation_summary import EvaluationBatch
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.run_state import RunState
from mosaic.gui.live.model.natural import (
    EpisodeSearch,
    NaturalPicture,
    Pacer,
    RateMeter,
    can_be_natural,
    fallback_text,
    natural_hud,
    rate_words,
    waiting_text,
    why_not_natural,
)
from mosaic.replay.changes import Box, Change
from mosaic.replay.pace import Pace
from mosaic.replay.stretches import StretchStep
from tests.replay_samples import recording_of
from tests.unit.gui.run_samples import record

EPISODE = replace(
    recording_of(200).episode, episode_index=412, total_reward=187.0, steps=800, timestamp=1000.0
)
SHOWN = NaturalPicture(
    StretchStep(Change(1, 1, Box(0, 0, 1, 1), b"abc"), 34, 33.0, True, 166, Pace(50, 1)),
    EPISODE,
    200,
    7,
)


def numbered(index: int) -> EpisodeSummary:
    return replace(EPISODE, episode_index=index)


def test_the_newest_is_chosen_and_waited_for_a_moment() -> None:
    search = EpisodeSearch()
    assert search.choose(numbered(5), 0.0).episode_index == 5
    assert not search.refused(0.1)
    assert search.choose(numbered(9), 0.5).episode_index == 5  # it is being written
    search.found()
    assert search.choose(numbered(12), 1.0).episode_index == 12


def test_one_that_does_not_come_is_left_for_a_newer_one() -> None:
    search = EpisodeSearch()
    search.choose(numbered(5), 0.0)
    assert search.choose(numbered(9), 2.5).episode_index == 9


def test_it_gives_up_only_where_nothing_comes_for_long() -> None:
    search = EpisodeSearch()
    assert not search.refused(0.0) and not search.refused(9.0)
    search.found()
    assert not search.refused(11.0)
    assert search.refused(22.0)


def test_pictures_come_at_their_pace() -> None:
    pacer, now, shown = Pacer(), 5.0, []
    for _ in range(10):
        now += pacer.delay(now, 0.02)
        shown.append(now)
        now += 0.004  # what showing takes is made up for
    assert shown == pytest.approx([5.0 + 0.02 * place for place in range(10)])


def test_a_late_picture_is_not_made_up_for_by_a_rush() -> None:
    pacer = Pacer()
    pacer.delay(0.0, 0.02)
    assert pacer.delay(3.0, 0.02) == 0.0
    assert pacer.delay(3.0, 0.02) == pytest.approx(0.02)


def test_pictures_that_are_there_one_by_one_do_not_come_too_soon() -> None:
    """Drawn a little faster than they are shown, and with nothing in between."""
    pacer, now, shown = Pacer(), 0.0, []
    for _ in range(20):
        now += 0.012
        now += pacer.delay(now, 0.02)
        shown.append(now)
    gaps = [after - before for before, after in pairwise(shown)]
    assert min(gaps) == pytest.approx(0.02)


def test_the_rate_is_what_was_painted_of_late() -> None:
    meter = RateMeter()
    assert meter.per_second() is None
    for tenth in range(100):
        meter.add(tenth / 10, tenth * 8 if tenth < 50 else 50 * 8 + (tenth - 50))
    assert meter.per_second() == pytest.approx(10.0)
    assert meter.per_second(8) == pytest.approx(10.0 / 8)


@pytest.mark.parametrize(
    ("rate", "words"),
    [
        (None, "– pictures/s"),
        (29.96, "30 pictures/s"),
        (1.23, "1.2 pictures/s"),
        (0, "0.0 pictures/s"),
    ],
)
def test_words_for_the_rate(rate: float | None, words: str) -> None:
    assert rate_words(rate) == words


def test_the_strip_says_which_episode_and_which_step() -> None:
    run = record(1)
    hud = natural_hud(SHOWN, run.progress, "live", now=1012.0)
    assert hud.about == "episode 412 · return 187 · 12 s ago"
    assert hud.numbers.startswith("step    34 of 200 · return so far 33 · run: step")
    faster = replace(SHOWN, step=replace(SHOWN.step, pace=Pace(30, 1, 1.5)))
    about = natural_hud(faster, run.progress, "live", now=1012.0).about
    assert about == "episode 412 · return 187 · 12 s ago · 1.5× its own speed"
    earlier = replace(SHOWN, step=replace(SHOWN.step, is_newest=False))
    hud = natural_hud(earlier, run.progress, "live", now=1012.0)
    assert hud.about.startswith("before episode 412") and "of 200" not in hud.numbers


def test_an_evaluation_says_so() -> None:
    batch = EvaluationBatch(3, 50, 112.3, 90.1, 142.6)
    hud = natural_hud(SHOWN, record(1).progress, "live", 1012.0, batch)
    assert hud.about.startswith("episode 412") and "(Eval) · eval batch 3" in hud.about


def test_a_worker_that_cannot_replay_is_named() -> None:
    run = record(1, capabilities={"worker_type": "sample"})
    assert "cannot play its episodes again" in why_not_natural(run, run, True)
    able = record(1, capabilities={"replay_maker": "a:b"})
    assert why_not_natural(able, able, True) == ""
    assert why_not_natural(able, None, None) == ""  # not known yet
    starting = record(1, capabilities={}, state=RunState.HSHK)
    assert why_not_natural(starting, starting, True) == ""
    assert can_be_natural(able, True) and can_be_natural(able, None)
    assert not any((can_be_natural(starting, True), can_be_natural(None, True)))
    assert not can_be_natural(able, False)
    silent = record(1, capabilities={}, state=RunState.EXEC)
    assert why_not_natural(silent, silent, True)
    assert why_not_natural(able, able, False) == "the run is on another machine"


def test_the_fallback_is_a_sentence() -> None:
    assert fallback_text("") == ""
    assert fallback_text("it is so.") == ("Mosaic, since natural speed is not possible: it is so.")


def test_until_an_episode_is_drawn_samples_are_shown_and_it_is_said_why() -> None:
    none_yet = replace(record(1).progress, episodes=0)
    assert waiting_text(none_yet) == (
        "The first episode is still being played: samples until it is over."
    )
    assert waiting_text(replace(none_yet, episodes=1)).startswith("Samples, until the newest")
