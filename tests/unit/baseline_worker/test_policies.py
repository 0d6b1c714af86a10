"""Random and idle policies work in any action space; names are resolved or refused."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from baseline_worker.environment import base_name, check_environment
from baseline_worker.policies import RandomPolicy, check_policy, idle_action
from mosaic.errors import ConfigError

SPACES = [
    spaces.Discrete(3),
    spaces.Discrete(3, start=5),
    spaces.Box(-1, 1, (2,)),
    spaces.Box(1, 2, (2,), np.float64),
    spaces.MultiDiscrete([2, 3]),
    spaces.MultiBinary(4),
    spaces.Dict({"move": spaces.Discrete(2), "look": spaces.Box(-1, 1, (1,))}),
    spaces.Tuple((spaces.Discrete(2), spaces.MultiBinary(2))),
]


class Player:
    """As much of an environment as a policy sees."""

    def __init__(self, space: spaces.Space[Any]) -> None:
        self.action_space = space


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_idle_action_is_a_legal_action(space: spaces.Space[Any]) -> None:
    assert space.contains(idle_action(space, "Some-v0"))


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_random_actions_repeat_with_the_seed(space: spaces.Space[Any]) -> None:
    policy = RandomPolicy(Player(space))
    played = []
    for seed in (1, 1, 2):
        policy.begin_episode(seed)
        played.append(repr([policy.act(None) for _ in range(20)]))
    assert played[0] == played[1] != played[2]


def test_idle_action_does_nothing_where_zero_would_push() -> None:
    assert idle_action(spaces.Discrete(3), "MountainCar-v0") == 1
    assert idle_action(spaces.Discrete(3), "Acrobot-v1") == 1


def test_space_without_an_idle_action_is_refused() -> None:
    with pytest.raises(ConfigError, match="no idle action in a Text space"):
        idle_action(spaces.Text(5), "Some-v0")


@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        ("CartPole-v1", "CartPole"),
        ("my.module:Some-Env-v12", "Some-Env"),
        ("ALE/Pong-v5", "Pong"),
        ("NoVersion", "NoVersion"),
    ],
)
def test_base_name_is_the_id_without_module_namespace_and_version(env_id: str, name: str) -> None:
    assert base_name(env_id) == name


@pytest.mark.parametrize("env_id", ["CartPol-v1", "cartpole-v1", "CartPole", "CartPole-v9"])
def test_similar_environments_are_suggested(env_id: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_environment(env_id)
    assert "CartPole-v1" in caught.value.hint
    assert caught.value.details["field"] == "env_id"


@pytest.mark.parametrize("env_id", ["", "no such thing", "no_such_module_here:X-v0", "../x-v0"])
def test_hopeless_environment_is_refused(env_id: str) -> None:
    with pytest.raises(ConfigError, match="is not a known environment"):
        check_environment(env_id)


def test_missing_heuristic_is_refused_with_the_list_of_those_there_are() -> None:
    with pytest.raises(ConfigError, match="no heuristic for CarRacing-v3") as caught:
        check_policy("heuristic", "CarRacing-v3")
    assert "LunarLander" in caught.value.hint


def test_registered_environments_are_accepted() -> None:
    for env_id in ("CartPole-v1", "gymnasium.envs.classic_control:CartPole-v1"):
        check_environment(env_id)
    assert "CartPole-v1" in gymnasium.registry
