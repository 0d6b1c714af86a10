from __future__ import annotations

from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import OrderEnforcing, TimeLimit

from mosaic.injection.env_watch import EnvWatch
from mosaic.injection.hooks.shortcuts import counting_time_limit, shorten_order_enforcing
from tests.unit.injection.environments import Corridor


def fail(env: Any, error: Exception) -> None:
    raise error


def test_the_installed_time_limit_is_the_known_one_and_limits_as_before() -> None:
    make = counting_time_limit(TimeLimit)
    assert make is not None, "counting costs an extra call with this version of Gymnasium"
    counted = make(fail)
    mine, theirs = (TimeLimit(gymnasium.make("CartPole-v1"), 5) for _ in range(2))
    ended: list[tuple[float, int, int]] = []
    watch = EnvWatch(3, lambda *episode: ended.append(episode[:3]))
    vars(mine)["_mosaic_watch"] = watch
    for env in (mine, theirs):
        env.reset(seed=1)
    for _ in range(5):
        observation, *rest = counted(mine, 0)
        expected, *others = theirs.step(0)
        assert (observation.tolist(), rest) == (expected.tolist(), others)
    assert ended == [(5.0, 5, 3)]


def test_any_other_time_limit_is_left_alone() -> None:
    class Later(Corridor):
        def step(self: Any, action: Any) -> Any:
            observation, reward, terminated, truncated, info = self.env.step(action)
            self._elapsed_steps += 1
            if self._elapsed_steps > self._max_episode_steps:
                truncated = True
            return observation, reward, terminated, truncated, info

    assert counting_time_limit(Later) is None
    assert counting_time_limit(Corridor) is None


def test_order_is_still_enforced_and_in_subclasses_nothing_is_skipped() -> None:
    copied = type("Copied", (OrderEnforcing,), dict(vars(OrderEnforcing)))
    assert shorten_order_enforcing(copied, gymnasium.Wrapper)
    calls: list[str] = []

    class Between(gymnasium.Wrapper):
        def step(self, action: Any) -> Any:
            calls.append("step")
            return super().step(action)

    for kind in (copied, type("Sub", (copied,), {})):
        env = kind(Between(gymnasium.make("CartPole-v1")))
        with pytest.raises(ResetNeeded):
            env.step(0)
        env.reset(seed=1)
        env.reset(seed=2)
        env.step(0)
    assert calls == ["step", "step"]
    assert not shorten_order_enforcing(Corridor, gymnasium.Wrapper)
