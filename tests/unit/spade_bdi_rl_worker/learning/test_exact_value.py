"""Exact values agree with what is known, and recipes reach what they promise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from spade_bdi_rl_worker.learning.compiling import IS_COMPILED
from spade_bdi_rl_worker.learning.errors import WorldError
from spade_bdi_rl_worker.learning.exact_value import exact_value, optimal_policy, optimal_value
from spade_bdi_rl_worker.learning.pursuits import Pursuit
from spade_bdi_rl_worker.learning.recipes import recipe_for
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.learning.world import World


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "best"),
    [
        ("FrozenLake-v1", {}, 0.7442),
        ("FrozenLake8x8-v1", {}, 0.9132),
        ("FrozenLake-v1", {"map_name": "8x8"}, 0.6407),
        ("FrozenLake-v1", {"is_slippery": False}, 1.0),
        ("FrozenLake8x8-v1", {"is_slippery": False}, 1.0),
        ("Taxi-v4", {}, 7.93),
        ("CliffWalking-v1", {}, -13.0),
    ],
)
def test_the_best_values_are_the_published_ones(env_id: str, env_kwargs: Any, best: float) -> None:
    assert optimal_value(World.make(env_id, env_kwargs)) == pytest.approx(best, abs=5e-5)


def test_a_policys_exact_value_is_what_its_episodes_come_to() -> None:
    world = World.make("FrozenLake-v1")
    learning = QLearningRuntime(world, recipe_for("FrozenLake-v1").settings, 1)
    learning.pursue(Pursuit(episodes=3000))
    expected = exact_value(world, learning.policy())
    outcome = learning.pursue(Pursuit("exploit", episodes=4000, learns=False))
    # Ties are broken at random there, and by the first here: there are none in what was learnt.
    assert outcome.returns.mean() == pytest.approx(expected, abs=0.03)


def test_chances_of_actions_are_a_policy_too() -> None:
    world = World.make("FrozenLake-v1", {"is_slippery": False})
    actions = optimal_policy(world, 0.9)
    assert exact_value(world, np.eye(4)[actions]) == exact_value(world, actions) == 1.0
    random = exact_value(world, np.full((16, 4), 0.25))
    assert 0.0 < random < 0.1


def test_a_limit_cuts_off_what_comes_too_late() -> None:
    world = World.make("FrozenLake-v1", {"is_slippery": False})
    actions = optimal_policy(world, 0.9)
    assert [exact_value(world, actions, limit=limit) for limit in (5, 6)] == [0.0, 1.0]
    assert exact_value(world, actions, discount=0.5) == 0.5**5


def test_walking_in_circles_for_ever_costs_without_bound() -> None:
    cliff = World.make("CliffWalking-v1")
    up = np.zeros(48, dtype=np.int64)
    assert exact_value(cliff, up) == -math.inf
    assert exact_value(cliff, up, limit=7) == -7.0
    assert exact_value(cliff, up, discount=0.5) == pytest.approx(-2.0)
    assert exact_value(cliff, optimal_policy(cliff, 0.9)) == pytest.approx(-13.0)


@pytest.mark.parametrize("policy", [np.zeros(3, dtype=int), np.full(16, 4), np.ones((16, 4))])
def test_what_is_no_policy_is_refused(policy: Any) -> None:
    with pytest.raises(WorldError, match="'policy' does not fit"):
        exact_value(World.make("FrozenLake-v1"), policy)


def test_without_a_table_there_is_no_exact_value() -> None:
    with pytest.raises(WorldError, match="no table of transitions"):
        optimal_value(World.make("Blackjack-v1"))


@pytest.mark.skipif(not IS_COMPILED, reason="takes minutes without numba")
@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "least"),
    [
        ("FrozenLake-v1", {}, 0.70),
        ("FrozenLake8x8-v1", {}, 0.85),
        ("FrozenLake-v1", {"is_slippery": False}, 1.0),
        ("FrozenLake8x8-v1", {"is_slippery": False}, 1.0),
        ("CliffWalking-v1", {}, -13.0),
        ("Taxi-v4", {}, 7.5),
    ],
)
def test_the_recipe_reaches_what_it_has_to(env_id: str, env_kwargs: Any, least: float) -> None:
    """Two seeds here; five in `python -m learning.bdi`."""
    recipe = recipe_for(env_id, env_kwargs)
    world = World.make(env_id, env_kwargs)
    for seed in (1, 2):
        learning = QLearningRuntime(world, recipe.settings, seed)
        learning.pursue(Pursuit(episodes=recipe.episodes))
        assert exact_value(world, learning.policy()) >= least - 1e-9
