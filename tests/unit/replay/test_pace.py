"""How fast a stretch is shown, and which actions it consists of."""

from __future__ import annotations

import math

import pytest

from mosaic.replay.pace import Extent, Pace, extent_of, pace_of


@pytest.mark.parametrize(
    ("render_fps", "pace"),
    [
        (50, Pace(50, 1)),  # CartPole
        (30, Pace(30, 1)),  # Atari
        (20, Pace(30, 1, 1.5)),  # HalfCheetah: a little faster than it is, but smooth
        (125, Pace(125, 4)),  # Hopper: as fast as it is, without every fourth of a movement
        (60, Pace(60, 2)),
        (4, Pace(4, 1)),  # FrozenLake: move by move
        (None, Pace(30, 1)),
        (0, Pace(30, 1)),
        (-5, Pace(30, 1)),
        (math.nan, Pace(30, 1)),
        (math.inf, Pace(30, 1)),
        (1e9, Pace(30, 1)),
    ],
)
def test_the_pace_of_environments(render_fps: float | None, pace: Pace) -> None:
    assert pace_of(render_fps) == pace


@pytest.mark.parametrize("render_fps", [15, 20, 29.9, 30, 50, 59.9, 60, 67, 125, 240, 1000])
def test_movements_have_thirty_pictures_a_second_and_not_many_more(render_fps: float) -> None:
    assert 30 <= pace_of(render_fps).pictures_per_second < 60


@pytest.mark.parametrize("render_fps", [1, 4, 15, 20, 29.9, 30, 50, 60, 125, 1000])
def test_it_is_known_how_much_faster_than_the_environment_says(render_fps: float) -> None:
    pace = pace_of(render_fps)
    assert pace.steps_per_second == pytest.approx(pace.times * render_fps)
    assert pace.times == 1 or render_fps < 30


def test_a_long_episode_is_its_own_stretch() -> None:
    assert extent_of(1000, 400, 250, 3000, runs_on=True) == Extent(1000, 1400, True)


def test_a_short_one_comes_with_those_before_it() -> None:
    assert extent_of(1000, 20, 250, 3000, runs_on=True) == Extent(770, 1020, False)
    assert extent_of(100, 20, 250, 3000, runs_on=True) == Extent(0, 120, False)
    assert extent_of(0, 20, 250, 3000, runs_on=True) == Extent(0, 20, True)


def test_an_environment_that_stops_at_the_end_shows_one_episode() -> None:
    assert extent_of(1000, 20, 250, 3000, runs_on=False) == Extent(1000, 1020, True)


def test_a_very_long_one_is_cut_off() -> None:
    assert extent_of(10, 9000, 250, 3000, runs_on=True).stop == 3010
