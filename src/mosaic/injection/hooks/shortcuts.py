"""What pays for the counting: two methods of Gymnasium in fewer calls, with the same results.

On an environment as cheap as CartPole, counting is noticeable: a per cent or two. The wrappers
that `make` puts around every environment spend more than that on calls that only pass the step
on. We spare those, where the installed methods are, instruction by instruction, what we take them
for; in any other version they stay as they are, and counting is an extra call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from mosaic.injection.layers import Unwatched, not_recorded


def shorten_order_enforcing(order_enforcing: Any, wrapper: Any) -> bool:
    """Gymnasium 1.x notes or checks that there was a reset, then goes through `super()` to methods
    that do nothing but call the next environment: it is called directly, in this class only.
    """
    step, reset = order_enforcing.__dict__.get("step"), order_enforcing.__dict__.get("reset")
    if (
        _names(step) != {"_has_reset", "ResetNeeded", "super", "step"}
        or _names(reset) != {"_has_reset", "super", "reset"}
        or _names(wrapper.__dict__.get("step")) != {"env", "step"}
        or _names(wrapper.__dict__.get("reset")) != {"env", "reset"}
    ):
        return False

    @functools.wraps(step)
    def short_step(self: Any, action: Any) -> Any:
        if self._has_reset and type(self) is order_enforcing:
            return self.env.step(action)
        return step(self, action)

    @functools.wraps(reset)
    def short_reset(self: Any, *, seed: Any = None, options: Any = None) -> Any:
        if self._has_reset and type(self) is order_enforcing:
            return self.env.reset(seed=seed, options=options)
        return reset(self, seed=seed, options=options)

    order_enforcing.step, order_enforcing.reset = short_step, short_reset
    return True


def _names(function: Any) -> set[str]:
    """All that it mentions besides its arguments."""
    return set(function.__code__.co_names) if isinstance(function, FunctionType) else set()


def counting_time_limit(time_limit: Any) -> Callable[..., Any] | None:
    """A step for TimeLimit that limits and counts at once; None where it is not the known one."""
    original = time_limit.__dict__.get("step")
    if not isinstance(original, FunctionType) or not _are_alike(original, _limited_step):
        return None

    def make(unwatched: Unwatched, *, is_recorded: bool = False) -> Any:
        def recorded_step(self: Any, action: Any) -> Any:
            try:
                watch = self._mosaic_watch
                watch.acted(action)
            except Exception as error:  # noqa: BLE001  # the script goes on
                watch = not_recorded(self, error, unwatched)
            observation, reward, terminated, truncated, info = self.env.step(action)
            self._elapsed_steps += 1
            if self._elapsed_steps >= self._max_episode_steps:
                truncated = True
            try:
                try:
                    watch.earned(reward)
                except Exception as error:  # noqa: BLE001  # counting goes on
                    not_recorded(self, error, unwatched).count(reward)
                if terminated or truncated or watch.tap.is_due:
                    watch.notice(reward, terminated, truncated)
            except Exception as error:  # noqa: BLE001  # the script goes on
                unwatched(self, error)
            return observation, reward, terminated, truncated, info

        def step(self: Any, action: Any) -> Any:
            observation, reward, terminated, truncated, info = self.env.step(action)
            self._elapsed_steps += 1
            if self._elapsed_steps >= self._max_episode_steps:
                truncated = True
            try:
                watch = self._mosaic_watch
                watch.steps += 1
                watch.total += reward
                if terminated or truncated or watch.tap.is_due:
                    watch.notice(reward, terminated, truncated)
            except Exception as error:  # noqa: BLE001  # the script goes on
                unwatched(self, error)
            return observation, reward, terminated, truncated, info

        return recorded_step if is_recorded else step

    return make


def _limited_step(self: Any, action: Any) -> Any:
    """What a time limit does: held against the installed one."""
    observation, reward, terminated, truncated, info = self.env.step(action)
    self._elapsed_steps += 1
    if self._elapsed_steps >= self._max_episode_steps:
        truncated = True
    return observation, reward, terminated, truncated, info


def _are_alike(one: Any, other: Any) -> bool:
    a, b = one.__code__, other.__code__
    # The first constant is the docstring.
    return (a.co_code, a.co_names, a.co_varnames, a.co_consts[1:]) == (
        b.co_code,
        b.co_names,
        b.co_varnames,
        b.co_consts[1:],
    )
