"""The strips below the scrubber: what they hold, and what of it is drawn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mosaic.contracts.events import TrainingStep
from mosaic.gui.replay.model.episode import EpisodeSteps
from mosaic.gui.replay.model.strips import (
    MOST_LINES,
    StripKind,
    action_strip,
    heat_cells,
    heights,
    limits,
    line_points,
    observation_strip,
    reward_strip,
    value_strip,
    values_of,
)


def episode(actions: Any, rewards: tuple[float, ...] | None = None) -> EpisodeSteps:
    given = rewards or tuple(1.0 for _ in actions)
    return EpisodeSteps(actions, given, (0.0, *np.cumsum(given).tolist()), "terminated")


def told(step: int, info: Any) -> TrainingStep:
    return TrainingStep("R", "a", "w", step, 0.0, 0, step, 0, None, 1.0, False, False, info=info)


def test_rewards_begin_with_the_first_step() -> None:
    strip = reward_strip(episode((0, 1, 0), (1.0, float("nan"), -2.0)))
    assert strip.length == 3
    assert strip.text_at(0) == "" and strip.text_at(1) == "1" and strip.text_at(3) == "-2"
    assert strip.text_at(2) == "", "no number, no text"


def test_few_choices_have_a_row_each() -> None:
    strip = action_strip(episode([0, 3, 1]))
    assert strip is not None and strip.kind is StripKind.HEAT
    assert strip.values.shape == (4, 4)
    assert strip.values[2].tolist() == [0, 0, 0, 1] and strip.text_at(2) == "3"


def test_continuous_actions_are_lines_unless_they_are_many() -> None:
    few, many = np.ones((5, 2)), np.ones((5, MOST_LINES + 1))
    lines, heat = action_strip(episode(few)), action_strip(episode(many))
    assert lines is not None and lines.kind is StripKind.LINES
    assert heat is not None and heat.kind is StripKind.HEAT
    one = action_strip(episode(np.array([[0.5], [-0.5]])))
    assert one is not None and one.kind is StripKind.LINES and one.values.shape == (3, 1)


@pytest.mark.parametrize("actions", [(), ["left", "right"], [{"a": 1}], [[1], [1, 2]]])
def test_actions_that_are_no_numbers_have_no_strip(actions: Any) -> None:
    assert action_strip(episode(actions, (1.0, 1.0))) is None


def test_observations_become_known_bit_by_bit() -> None:
    strip = observation_strip(10, {0: [1.0, 2.0], 1: [1.5, 2.5]})
    assert strip is not None and strip.values.shape == (11, 2)
    strip.add({2: [3.0, 4.0], 99: [0.0, 0.0], 3: [1.0]})
    assert np.isfinite(strip.values[:3]).all() and not np.isfinite(strip.values[3:]).any()
    assert observation_strip(10, {0: []}) is None


def test_values_are_taken_from_what_the_worker_tells() -> None:
    rows = [told(0, {"value": 1.5}), told(1, {"q_values": [0.1, 0.7]}), told(2, {"value": True})]
    assert values_of(rows) == {0: 1.5, 1: 0.7}
    assert values_of([told(0, None), told(1, {"TimeLimit.truncated": True})]) == {}
    assert value_strip({}, 5) is None
    strip = value_strip({0: 1.5}, 5)
    assert strip is not None and strip.text_at(0) == "1.5"


def test_no_spike_is_lost_where_steps_are_many() -> None:
    values = np.zeros(10_000, np.float32)
    values[4_321] = 7.0
    places, shown = line_points(values, 100)
    assert len(places) == len(shown) == 200
    assert shown.max() == 7.0


def test_equal_numbers_lie_in_the_middle() -> None:
    shown = heights(np.array([5, 5], np.float32), *limits(np.array([5, 5], np.float32)))
    assert shown.tolist() == [0.5, 0.5]
    assert limits(np.array([np.nan], np.float32)) == (0.0, 0.0)


def test_each_row_of_a_heat_strip_has_a_scale_of_its_own() -> None:
    values = np.array([[0, 1000], [1, 2000], [np.nan, np.nan]], np.float32)
    cells = heat_cells(values, 100)
    assert cells.shape == (2, 3)
    assert cells[:, :2].tolist() == [[0, 1], [0, 1]] and np.isnan(cells[:, 2]).all()
    assert heat_cells(np.zeros((5_000, 3), np.float32), 100).shape == (3, 100)
