"""An algorithm that cannot handle an environment is refused, with those that can."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.kit.space_check import (
    algorithms_for,
    check_spaces,
    observation_kind,
    space_kind,
)
from cleanrl_worker.registry import find_algorithm
from mosaic.errors import ConfigError

VECTOR = spaces.Box(-1.0, 1.0, (4,), np.float32)
IMAGE = spaces.Box(0, 255, (4, 84, 84), np.uint8)
BUTTONS = spaces.Discrete(2)
MOTORS = spaces.Box(-1.0, 1.0, (3,), np.float32)
UNBOUNDED = spaces.Box(-np.inf, np.inf, (1,), np.float32)


def refusal(observations: spaces.Space[Any], actions: spaces.Space[Any], algo: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        check_spaces("Some-v0", observations, actions, find_algorithm(algo))
    assert caught.value.details["field"] == "algo"
    return caught.value


def test_continuous_algorithm_on_buttons() -> None:
    error = refusal(VECTOR, BUTTONS, "td3_continuous_action")
    assert "td3_continuous_action cannot train on Some-v0" in error.message
    assert "actions are discrete" in error.message
    assert "dqn" in error.hint
    assert "ppo_continuous_action" not in error.hint
    assert "dqn_atari" not in error.hint  # it needs images


def test_pixel_algorithm_on_a_vector() -> None:
    error = refusal(VECTOR, BUTTONS, "ppo_atari")
    assert "observes a vector" in error.message


def test_every_reason_is_given() -> None:
    error = refusal(VECTOR, MOTORS, "dqn_atari")
    assert "actions are continuous" in error.message
    assert "observes a vector" in error.message


def test_spaces_nobody_handles() -> None:
    error = refusal(VECTOR, spaces.MultiDiscrete([2, 3]), "ppo")
    assert "multidiscrete" in error.message
    assert "no algorithm" in error.hint


def test_actions_without_bounds_suit_only_algorithms_that_do_not_scale_them() -> None:
    error = refusal(VECTOR, UNBOUNDED, "sac_continuous_action")
    assert "no bounds" in error.message
    assert "ppo_continuous_action" in error.hint
    assert "td3_continuous_action" not in error.hint
    check_spaces("Some-v0", VECTOR, UNBOUNDED, find_algorithm("ppo_continuous_action"))


@pytest.mark.parametrize(
    ("observations", "actions", "algo"),
    [
        (VECTOR, BUTTONS, "ppo"),
        (IMAGE, BUTTONS, "ppo"),
        (IMAGE, BUTTONS, "dqn_atari"),
        (VECTOR, MOTORS, "sac_continuous_action"),
    ],
)
def test_fitting_spaces_pass(
    observations: spaces.Space[Any], actions: spaces.Space[Any], algo: str
) -> None:
    check_spaces("Some-v0", observations, actions, find_algorithm(algo))


def test_kinds() -> None:
    assert [space_kind(space) for space in (BUTTONS, MOTORS, UNBOUNDED)] == [
        "discrete",
        "continuous",
        "unbounded",
    ]
    assert space_kind(spaces.MultiBinary(3)) == "multibinary"
    assert [observation_kind(space) for space in (VECTOR, IMAGE)] == ["vector", "image"]
    assert observation_kind(spaces.Dict()) == "dict"
    assert "ppo" in algorithms_for("discrete", "image")
