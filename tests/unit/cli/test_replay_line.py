"""The line below a replayed picture."""

from __future__ import annotations

import math
from typing import Any

import numpy

from mosaic.cli.commands.replay_player import telemetry_line
from mosaic.front.run_words import action_text
from mosaic.replay.simulation import SimulatedStep


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
