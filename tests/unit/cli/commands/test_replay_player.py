"""What keys and time do to a replay, and the line below its picture."""

from __future__ import annotations

import math
from typing import Any

import numpy

from mosaic.cli.commands.replay_player import FASTEST, SLOWEST, Controls, telemetry_line
from mosaic.front.run_words import action_text
from mosaic.replay.simulation import SimulatedStep

CONTROLS = Controls(steps=200, fps=10.0)


def pressed(controls: Controls, *keys: str) -> Controls:
    for key in keys:
        controls = controls.pressed(key)
    return controls


def test_time_goes_by_only_while_it_plays() -> None:
    assert CONTROLS.advanced(0.25).step == 2
    assert pressed(CONTROLS, " ").advanced(5).step == 0
    assert CONTROLS.advanced(-3).step == 0
    assert CONTROLS.advanced(0.25).until_next_s == 0.05


def test_it_pauses_at_the_end_and_then_starts_again() -> None:
    ended = CONTROLS.advanced(1000)
    assert ended.step == 200 and not ended.is_playing and ended.is_at_end
    again = pressed(ended, " ")
    assert again.step == 0 and again.is_playing


def test_single_steps_pause() -> None:
    controls = pressed(CONTROLS.moved_to(50), "right", "right", "left")
    assert controls.step == 51 and not controls.is_playing
    assert pressed(controls, "page down", "page down", "page up").step == 61
    assert pressed(CONTROLS, "left").step == 0
    assert pressed(CONTROLS.moved_to(200), "right", "page down").step == 200


def test_jumps_go_on_playing() -> None:
    assert pressed(CONTROLS, "5").step == 100 and pressed(CONTROLS, "5").is_playing
    assert pressed(CONTROLS, "end").step == 200
    assert pressed(CONTROLS, "9", "home").step == 0


def test_the_speed_has_limits() -> None:
    assert pressed(CONTROLS, "+").advanced(1).step == 20
    assert pressed(CONTROLS, "-").advanced(1).step == 5
    assert pressed(CONTROLS, *"+" * 20).speed == FASTEST
    assert pressed(CONTROLS, *"-" * 20).speed == SLOWEST


def test_q_ends_and_other_keys_do_nothing() -> None:
    for key in ("q", "Q", "\x04"):
        assert pressed(CONTROLS, key).is_over
    assert pressed(CONTROLS, "x", "up", "\x00") == CONTROLS


def test_an_empty_episode_can_be_controlled() -> None:
    empty = Controls(steps=0, fps=30.0)
    assert empty.is_at_end and pressed(empty, "right", "5", "end", "page up").step == 0
    assert not empty.advanced(1).is_playing


def step(**changes: Any) -> SimulatedStep:
    values: dict[str, Any] = {
        "index": 17,
        "action": 1,
        "observation": None,
        "reward": 1.0,
        "recorded_reward": 1.0,
        "terminated": False,
        "truncated": False,
        "picture": None,
    }
    return SimulatedStep(**{**values, **changes})


def test_a_step_tells_what_was_done_and_what_came_of_it() -> None:
    assert telemetry_line(step(), 200, 17.0, "▶") == (
        "▶  step 17/200  action 1  reward 1  return 17"
    )
    assert telemetry_line(step(index=0), 200, 0.0) == "step 0/200"
    assert telemetry_line(step(index=0), 200, 0.0, value=9.25) == "step 0/200  value 9.25"
    assert telemetry_line(step(terminated=True), 17, 17.0).endswith("return 17  terminated")
    assert telemetry_line(step(truncated=True), 17, 17.0).endswith("cut off")


def test_a_reward_that_differs_is_told_twice() -> None:
    assert "reward 1 (simulated 0)" in telemetry_line(step(reward=0.0), 200, 17.0)
    assert "simulated nan" in telemetry_line(step(reward=math.nan), 200, 17.0)


def test_actions_of_any_kind_are_short() -> None:
    assert action_text(numpy.array([0.123456, -1], numpy.float32)) == "[0.1235 -1]"
    assert action_text(numpy.int64(3)) == "3"
    assert action_text({"a": 1}) == "{'a': 1}"
    assert len(action_text(list(range(1000)))) <= 40
