"""Where a replay stands as time goes by."""

from __future__ import annotations

import pytest

from mosaic.gui.replay.model import SPEEDS, ReplayPlayer, faster, slower, speed_text


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
