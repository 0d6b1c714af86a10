"""The scripted policies play well enough to be worth comparing with."""

from __future__ import annotations

import statistics
import warnings
from typing import Any

import gymnasium
import pytest

with warnings.catch_warnings():
    # Its extension module warns while it loads, and crashes where a warning is an error.
    warnings.simplefilter("ignore")
    import Box2D  # noqa: F401

from baseline_worker.policies import HEURISTICS, make_policy


def returns(env_id: str, policy_name: str, episodes: int, **arguments: Any) -> list[float]:
    env = gymnasium.make(env_id, disable_env_checker=True, **arguments)
    policy = make_policy(policy_name, env, env_id)
    found = []
    for seed in range(episodes):
        observation, _ = env.reset(seed=seed)
        policy.begin_episode(seed)
        total, is_over = 0.0, False
        while not is_over:
            action = policy.act(observation)
            observation, reward, terminated, truncated, _ = env.step(action)
            total += float(reward)
            is_over = terminated or truncated
        found.append(total)
    env.close()
    return found


@pytest.mark.parametrize(
    ("env_id", "episodes", "at_least"),
    [
        ("CartPole-v1", 20, 475.0),
        ("MountainCar-v0", 20, -140.0),
        ("MountainCarContinuous-v0", 5, 85.0),
        ("Acrobot-v1", 10, -120.0),
        ("LunarLander-v3", 20, 150.0),
        ("LunarLanderContinuous-v3", 10, 150.0),
        ("FrozenLake-v1", 200, 0.6),
        ("FrozenLake8x8-v1", 50, 0.6),
        ("Blackjack-v1", 3000, -0.1),
        ("CliffWalking-v1", 3, -13.0),
        ("Taxi-v4", 20, 5.0),
    ],
)
def test_heuristic_is_decent(env_id: str, episodes: int, at_least: float) -> None:
    assert statistics.mean(returns(env_id, "heuristic", episodes)) >= at_least


def test_every_mountain_is_climbed() -> None:
    assert min(returns("MountainCar-v0", "heuristic", 30)) > -200


def test_frozen_lake_without_slipping_always_reaches_the_goal() -> None:
    for size in ("4x4", "8x8"):
        found = returns("FrozenLake-v1", "heuristic", 5, is_slippery=False, map_name=size)
        assert found == [1.0] * 5


def test_pendulum_is_swung_up() -> None:
    played = statistics.mean(returns("Pendulum-v1", "heuristic", 20))
    assert played > -250 > statistics.mean(returns("Pendulum-v1", "random", 5))


def test_every_listed_heuristic_is_for_an_environment_that_exists() -> None:
    names = {env_id.rpartition("-v")[0] for env_id in gymnasium.registry}
    assert set(HEURISTICS) <= names
