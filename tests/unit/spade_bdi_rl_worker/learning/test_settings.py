"""Settings and pursuits: whatever makes no sense is refused, naming the field."""

from __future__ import annotations

from typing import Any

import pytest

from spade_bdi_rl_worker.learning.errors import SettingsError
from spade_bdi_rl_worker.learning.pursuits import Pursuit
from spade_bdi_rl_worker.learning.recipes import recipe_for
from spade_bdi_rl_worker.learning.settings import ALGORITHMS, LearningSettings

NAN, INFINITY = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("algorithm", "dqn"),
        ("learning_rate", NAN),
        ("learning_rate", 0.0),
        ("learning_rate", -0.1),
        ("learning_rate", 1.5),
        ("final_learning_rate", 0),
        ("discount", 1.01),
        ("discount", -1.0),
        ("subgoal_discount", INFINITY),
        ("epsilon", 1.1),
        ("epsilon", "0.5"),
        ("epsilon", True),
        ("final_epsilon", -0.01),
        ("trace_decay", NAN),
        ("half_visits", -1),
        ("initial_value", INFINITY),
        ("anneal_episodes", -1),
        ("anneal_episodes", 1.5),
        ("anneal_episodes", 10**13),
    ],
)
def test_a_setting_out_of_range_is_named(field: str, value: Any) -> None:
    with pytest.raises(SettingsError) as caught:
        LearningSettings(**{field: value})
    assert caught.value.details["field"] == field
    assert field in caught.value.message
    assert caught.value.hint


def test_an_unknown_setting_is_named_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match="'lr' is no setting") as caught:
        LearningSettings.from_dict({"lr": 0.1})
    assert "learning_rate" in caught.value.hint


def test_settings_go_through_a_dictionary() -> None:
    settings = LearningSettings(algorithm="sarsa", epsilon=0.3)
    assert LearningSettings.from_dict(settings.to_dict()) == settings


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("kind", {"kind": "wander"}),
        ("episodes", {"episodes": 0}),
        ("episodes", {"episodes": 2.0}),
        ("epsilon", {"epsilon": 1.5}),
        ("epsilon", {"epsilon": NAN}),
        ("target", {"kind": "subgoal"}),
        ("target", {"kind": "explore", "target": 3}),
        ("target", {"kind": "subgoal", "target": -1}),
    ],
)
def test_a_pursuit_that_makes_no_sense_is_refused(field: str, values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError) as caught:
        Pursuit(**values)
    assert caught.value.details["field"] == field


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    "env_id",
    ["FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1", "Taxi-v4", "CartPole-v1", "Other-v0"],
)
def test_every_environment_has_a_recipe_for_every_algorithm(env_id: str, algorithm: Any) -> None:
    recipe = recipe_for(env_id, {}, algorithm)
    assert recipe.settings.algorithm == algorithm
    assert recipe.episodes > 0
    assert recipe.reason


def test_a_large_map_has_the_recipe_of_large_maps() -> None:
    large = recipe_for("FrozenLake8x8-v1")
    assert recipe_for("FrozenLake-v1", {"map_name": "8x8"}) == large
    assert recipe_for("FrozenLake-v1", {"desc": ["SFFFFF"] * 6}) == large
    assert recipe_for("FrozenLake-v1", {"random_map": {}}) == large
    assert recipe_for("FrozenLake-v1") != large
