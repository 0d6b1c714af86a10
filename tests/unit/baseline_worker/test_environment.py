"""An episode depends on its seed and its actions, not on the episodes before it."""

from __future__ import annotations

from typing import Any

import pytest

from baseline_worker.config import BaselineConfig
from baseline_worker.environment import begin_episode, make_environment


def rewards_of(env: Any, seed: int) -> list[float]:
    begin_episode(env, seed)
    env.action_space.seed(seed)
    rewards: list[float] = []
    for _ in range(120):
        _, reward, terminated, truncated, _ = env.step(env.action_space.sample())
        rewards.append(float(reward))
        if terminated or truncated:
            break
    return rewards


@pytest.mark.parametrize("env_id", ["BipedalWalker-v3", "LunarLander-v3", "FrozenLake-v1"])
def test_an_episode_is_the_same_whatever_came_before(env_id: str) -> None:
    config = BaselineConfig(env_id=env_id, episodes=1)
    used = make_environment(config)
    after_others = [rewards_of(used, seed) for seed in range(8)]
    alone = []
    for seed in range(8):
        fresh = make_environment(config)
        alone.append(rewards_of(fresh, seed))
        fresh.close()
    used.close()
    assert after_others == alone
