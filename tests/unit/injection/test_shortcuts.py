from __future__ import annotations

import copy
import pickle
from types import SimpleNamespace
from typing import Any

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import OrderEnforcing, PassiveEnvChecker, TimeLimit

from mosaic.injection.env_watch import EnvWatch
from mosaic.injection.hooks.shortcuts import (
    counting_time_limit,
    shorten_order_enforcing,
    skip_what_passes_on,
)
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


class Counting(gymnasium.Wrapper):
    """Somebody else's, which must never be skipped."""

    steps = resets = 0

    def step(self, action: Any) -> Any:
        self.steps += 1
        return super().step(action)

    def reset(self, **kwargs: Any) -> Any:
        self.resets += 1
        return super().reset(**kwargs)


class Stack:
    """A stack as `make` builds it, of copies of its classes, so that others keep theirs."""

    def __init__(self, inside: Any = lambda env: env, between: Any = lambda env: env) -> None:
        self.wrappers: Any = SimpleNamespace(
            **{
                kind.__name__: type(kind.__name__, (kind,), dict(vars(kind)))
                for kind in (TimeLimit, OrderEnforcing, PassiveEnvChecker)
            }
        )
        assert skip_what_passes_on(self.wrappers, gymnasium.Wrapper)
        core = gymnasium.make("CartPole-v1").unwrapped
        self.checker = self.wrappers.PassiveEnvChecker(inside(core))
        self.enforcer = self.wrappers.OrderEnforcing(self.checker)
        self.env = self.wrappers.TimeLimit(between(self.enforcer), 40)
        make = counting_time_limit(self.wrappers.TimeLimit)
        assert make is not None
        counted = make(fail)
        self.wrappers.TimeLimit.step = counted
        vars(self.env)["_mosaic_watch"] = EnvWatch(0, lambda *episode: None)

    @property
    def skips(self) -> bool:
        return self.env._mosaic_below is self.checker.env

    def play(self, episodes: int) -> list[Any]:
        return played(self.env, episodes)


def played(env: Any, episodes: int) -> list[Any]:
    seen = []
    for number in range(episodes):
        observation, info = env.reset(seed=3 if number == 0 else None)
        seen.append((observation.tolist(), info))
        over = False
        while not over:
            observation, *rest = env.step(len(seen) % 2)
            seen.append((observation.tolist(), *rest))
            over = rest[1] or rest[2]
    return seen


def test_what_only_passes_on_is_skipped_with_the_same_results() -> None:
    stack = Stack()
    theirs = gymnasium.make("CartPole-v1", max_episode_steps=40)
    assert stack.play(5) == played(theirs, 5)
    assert stack.skips
    assert (stack.checker.checked_step, stack.checker.checked_reset) == (True, True)


def test_order_is_enforced_before_anything_is_skipped() -> None:
    stack = Stack()
    with pytest.raises(ResetNeeded):
        stack.env.step(0)
    stack.env.reset(seed=1)
    assert not stack.skips, "the checker has not seen a step yet"


def test_wrappers_of_a_script_are_never_skipped() -> None:
    inside, between = Stack(inside=Counting), Stack(between=Counting)
    steps = len(inside.play(4)) - 4
    assert (inside.env._mosaic_below.steps, inside.env._mosaic_below.resets) == (steps, 4)
    steps = len(between.play(4)) - 4
    assert (between.env.env.steps, between.env.env.resets) == (steps, 4)


@pytest.mark.parametrize("name", ["step", "reset"])
@pytest.mark.parametrize("layer", ["enforcer", "checker"])
@pytest.mark.parametrize("of_class", [True, False])
def test_a_method_that_a_script_replaces_is_called(name: str, layer: str, of_class: bool) -> None:
    stack = Stack()
    stack.play(3)
    assert stack.skips
    calls = []
    wrapper = getattr(stack, layer)
    original = getattr(type(wrapper), name)

    def replaced(*args: Any, **kwargs: Any) -> Any:
        calls.append(name)
        return original(*(args if of_class else (wrapper, *args)), **kwargs)

    setattr(type(wrapper) if of_class else wrapper, name, replaced)
    stack.play(1)
    assert calls
    assert not stack.skips


def test_a_copy_steps_its_own_environment() -> None:
    stack = Stack()
    stack.play(3)
    stack.env.reset()
    copied = copy.deepcopy(stack.env)
    vars(copied)["_mosaic_watch"] = EnvWatch(1, lambda *episode: None)
    before = stack.env.unwrapped.state.tolist()
    copied.step(0)
    assert stack.env.unwrapped.state.tolist() == before
    assert copied._mosaic_below is copied.unwrapped
    assert pickle.loads(pickle.dumps(copied.unwrapped)).state.tolist() != before


def test_other_wrappers_are_left_as_they_are() -> None:
    wrappers = SimpleNamespace(
        TimeLimit=type("TimeLimit", (TimeLimit,), dict(vars(TimeLimit))),
        OrderEnforcing=Counting,
        PassiveEnvChecker=PassiveEnvChecker,
    )
    assert not skip_what_passes_on(wrappers, gymnasium.Wrapper)
    env = wrappers.TimeLimit(gymnasium.make("CartPole-v1"), 9)
    env.reset(seed=1)
    assert env._mosaic_below is env.env
