"""A replay as time goes by, and its episode in words and rows."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import WorkerError
from mosaic.gui.replay.model.episode import (
    EpisodeSteps,
    ended_text,
    episode_cells,
    loaded_text,
    new_episodes_text,
)
from mosaic.gui.replay.model.player import SPEEDS, ReplayPlayer, faster, slower, speed_text
from mosaic.gui.replay.model.words import (
    Sameness,
    comparison_badge,
    heading,
    hud_fields,
    verdict_badge,
)
from mosaic.gui.state.notices import sentence_of
from mosaic.replay.verdict import DIFFERS, IDENTICAL, ReplayVerdict, impossible_replay


def player(steps: int = 200) -> ReplayPlayer:
    made = ReplayPlayer()
    made.load(steps)
    return made


def play(made: ReplayPlayer, seconds: float, tick_s: float = 0.02) -> None:
    now = 100.0
    made.play(now)
    for _ in range(round(seconds / tick_s)):
        now += tick_s
        made.advance(now)


def test_time_goes_by_only_while_it_plays() -> None:
    made = player()
    assert made.advance(50.0) == 0
    play(made, 1.0)
    assert made.step == pytest.approx(30, abs=1)
    made.pause()
    assert made.advance(1e6) == made.step
    assert made.due_s is None


def test_twice_the_speed_is_twice_as_far() -> None:
    made = player(1000)
    made.speed = 4.0
    play(made, 1.0)
    assert made.step == pytest.approx(120, abs=2)


def test_a_window_that_was_busy_does_not_leap() -> None:
    made = player()
    made.play(10.0)
    assert made.advance(60.0) <= 3


def test_a_picture_that_is_late_is_waited_for() -> None:
    made = player()
    made.play(10.0)
    made.hold(10.09)
    assert made.advance(10.1) == 0


def test_it_pauses_at_the_end_and_plays_again_from_the_beginning() -> None:
    made = player(10)
    play(made, 1.0)
    assert (made.step, made.is_playing) == (10, False)
    made.play(0.0)
    assert (made.step, made.is_playing) == (0, True)


def test_a_loop_shows_the_last_step_before_it_begins_again() -> None:
    made = player(3)
    made.is_looped = True
    seen = []
    now = 0.0
    made.play(now)
    for _ in range(20):
        now += 1 / 30
        seen.append(made.advance(now))
    assert made.is_playing
    assert 3 in seen and seen.index(3) < len(seen) - 1 - seen[::-1].index(0)
    assert max(seen) == 3


def test_a_seek_stays_within_the_episode_and_goes_on_playing() -> None:
    made = player(10)
    made.play(0.0)
    assert (made.seek(99), made.seek(-5), made.is_playing) == (10, 0, True)


def test_a_single_step_stands_still() -> None:
    made = player(10)
    made.play(0.0)
    assert (made.move(1), made.is_playing) == (1, False)
    assert made.move(-5) == 0


def test_an_episode_without_steps_does_not_play() -> None:
    made = player(0)
    made.play(0.0)
    assert not made.is_playing


def test_the_next_step_is_due_when_its_time_has_come() -> None:
    made = player()
    made.play(0.0)
    assert made.due_s == pytest.approx(1 / 30)
    made.advance(0.01)
    assert made.due_s == pytest.approx(1 / 30 - 0.01)


def test_what_is_drawn_ahead_is_what_will_be_shown() -> None:
    made = player(20)
    assert made.ahead(60, 4) == []
    made.play(0.0)
    assert made.ahead(60, 4) == [1, 2, 3, 4]
    made.speed = 16.0
    assert made.ahead(60, 4) == [8, 16]


def test_speeds_have_a_slowest_and_a_fastest() -> None:
    assert faster(1.0) == 2.0 and slower(1.0) == 0.5
    assert faster(SPEEDS[-1]) == SPEEDS[-1] and slower(SPEEDS[0]) == SPEEDS[0]
    assert [speed_text(speed) for speed in SPEEDS[:3]] == ["0.25×", "0.5×", "1×"]


def episode(**changes: Any) -> EpisodeSummary:
    values: dict[str, Any] = {
        "run_id": "R",
        "agent_id": "",
        "worker_id": "",
        "seq": 1,
        "timestamp": 0.0,
        "episode_index": 1204,
        "total_reward": 6.0,
        "steps": 3,
        "terminated": True,
        "truncated": False,
    }
    return EpisodeSummary(**{**values, **changes})


def recording(**changes: Any) -> EpisodeRecording:
    values: dict[str, Any] = {
        "run_id": "R",
        "episode": episode(),
        "attempt": 1,
        "env_id": "E",
        "maker": "m:f",
        "python": "/bin/python",
        "settings": {},
        "lead": 1,
        "action_dtype": "<i8",
        "actions": struct.pack("<4q", 9, 0, 1, 0),
        "rewards": (5.0, 1.0, -2.0, 7.0),
    }
    return EpisodeRecording(**{**values, **changes})


def test_what_led_to_the_beginning_is_not_shown() -> None:
    steps = EpisodeSteps.of(recording())
    assert len(steps) == 3
    assert steps.cells(0) == ("0", "–", "–", "0", "–", "")
    assert steps.cells(2) == ("2", "1", "-2", "-1", "–", "")
    assert steps.cells(3) == ("3", "0", "7", "6", "–", "terminated")


def test_a_step_has_what_was_expected_of_the_state_it_led_to() -> None:
    steps = EpisodeSteps.of(recording(values=(4.5, math.nan, 2.0)))
    assert [steps.cells(step)[4] for step in range(4)] == ["4.5", "–", "2", "–"]


def test_the_extremes_are_found_by_their_step() -> None:
    steps = EpisodeSteps.of(recording())
    assert (steps.lowest, steps.highest) == (2, 3)
    assert steps.marks() == ([2], [3])


def test_equal_rewards_have_no_extremes() -> None:
    steps = EpisodeSteps.of(recording(rewards=(1.0, 1.0, 1.0, 1.0)))
    assert (steps.lowest, steps.highest, steps.marks()) == (None, None, ([], []))


def test_rewards_that_are_no_numbers_are_no_extremes() -> None:
    steps = EpisodeSteps.of(recording(rewards=(0.0, float("nan"), 3.0, 1.0)))
    assert (steps.lowest, steps.highest) == (3, 2)


def test_damaged_actions_leave_the_rewards() -> None:
    steps = EpisodeSteps.of(recording(actions=b"abc"))
    assert steps.cells(1) == ("1", "–", "1", "1", "–", "")


def test_the_strip_tells_a_reward_twice_where_it_differs() -> None:
    steps = EpisodeSteps.of(recording())
    assert hud_fields(2, steps, -2.0) == ("step 2 / 3", "action 1", "reward -2", "return -1")
    assert hud_fields(2, steps, 0.5)[2] == "reward -2 (simulated 0.5)"
    assert hud_fields(0, steps, None) == ("step 0 / 3", "action –", "reward –", "return 0")


def test_the_badge_names_the_first_step_that_differs() -> None:
    long = "differs at step 64: recorded 1.0, simulated 0.0 (3 of 80 rewards differ)"
    found = comparison_badge(long, 80)
    assert (found.sameness, found.text, found.tip) == (
        Sameness.DIFFERENT,
        "differs at step 64",
        long,
    )
    assert comparison_badge("", 3).text == "identical so far"
    assert comparison_badge("", 0).sameness is Sameness.UNKNOWN


def test_a_verdict_is_a_sentence() -> None:
    same = verdict_badge(ReplayVerdict(IDENTICAL, "identical", steps=115))
    assert same.tip == "Identical: 115 rewards as recorded, and the same end."
    other = verdict_badge(ReplayVerdict(DIFFERS, "differs at step 4: x", first_step=4))
    assert (other.text, other.tip) == ("differs at step 4", "Differs at step 4: x.")
    assert verdict_badge(impossible_replay("no maker")).tip == "Cannot be simulated: no maker."


def test_an_episode_in_a_row() -> None:
    assert episode_cells(episode()) == ("1,204", "6", "3", "–", "terminated")
    assert episode_cells(episode(episode_seed=7))[3] == "7"
    assert ended_text(episode(terminated=False, truncated=True)) == "cut off"
    assert ended_text(episode(terminated=False)) == "open"


def test_the_heading_names_what_is_special() -> None:
    assert heading(recording()) == "Episode 1,204 · return 6 · 3 steps"
    assert heading(recording(attempt=2, episode=episode(episode_seed=5))).endswith(
        "· seed 5 · attempt 2"
    )


def test_why_an_episode_cannot_be_shown() -> None:
    error = WorkerError("the interpreter /x is not on this machine", hint="replay elsewhere")
    assert sentence_of(error) == "The interpreter /x is not on this machine. Replay elsewhere."


def test_the_list_says_how_much_of_it_there_is() -> None:
    assert loaded_text(200, 10_000, False) == "200 of 10,000 episodes"
    assert loaded_text(3, 3, True) == "3 episodes"
    assert new_episodes_text(10, 22) == "12 new"
    assert new_episodes_text(22, 22) == ""
