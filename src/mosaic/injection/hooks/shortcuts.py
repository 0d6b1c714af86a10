"""What pays for the counting: methods of Gymnasium in fewer calls, with the same results.

On an environment as cheap as CartPole, counting is noticeable: a per cent or two. The wrappers
that `make` puts around every environment spend more than that on calls that only pass the step
on. We spare those, where the installed methods are what we take them for; in any other version
they stay as they are, and counting is an extra call. With each reset it is looked at again whether
a script has put anything of its own in between.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from mosaic.injection.layers import Skip, Unwatched, count_unrecorded


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


def skip_what_passes_on(wrappers: Any, wrapper: Any) -> Skip | None:
    """What `make` puts between a time limit and an environment checks the order of calls, which is
    settled by the first reset, and the first few results. After that both only pass on, and a
    time limit calls what lies below them: `_mosaic_below`, found anew with each of its resets.

    To be called when the methods of those two are what they will be. Returns what `follow_reset`
    of the layers needs to spare a call. None where one of the three is not as known: then nothing
    is skipped.
    """
    time_limit: Any = wrappers.TimeLimit
    reset = time_limit.__dict__["reset"]
    is_known = _pass_on_when_checked(wrappers, wrapper)
    limit_below = _limits_below(wrappers) if is_known else _nothing_below

    @functools.wraps(reset)
    def short_reset(self: Any, *, seed: Any = None, options: Any = None) -> Any:
        below = limit_below(self)
        if below is None:
            object.__setattr__(self, "_mosaic_below", self.env)
            return reset(self, seed=seed, options=options)
        return below.reset(seed=seed, options=options)

    @functools.wraps(reset)
    def short_reset_with_any(self: Any, **kwargs: Any) -> Any:
        """As it was before Gymnasium 1.0."""
        below = limit_below(self)
        if below is None:
            object.__setattr__(self, "_mosaic_below", self.env)
            return reset(self, **kwargs)
        return below.reset(**kwargs)

    parameters = inspect.signature(reset).parameters.values()
    takes_any = any(each.kind is each.VAR_KEYWORD for each in parameters)
    time_limit.reset = short_reset_with_any if takes_any else short_reset
    return limit_below if is_known else None


def _limits_below(wrappers: Any) -> Skip:
    """All that the reset of a time limit does by itself. Returns what it and its steps arrive at;
    None where they may be more than passed on, and nothing is done."""
    time_limit, enforcer, checker = (
        wrappers.TimeLimit,
        wrappers.OrderEnforcing,
        wrappers.PassiveEnvChecker,
    )
    enforcing_step, enforcing_reset = enforcer.step, enforcer.reset
    checking_step, checking_reset = checker.step, checker.reset
    looks_for_reuse = _names(checking_step) >= _REUSE

    def limit_below(env: Any) -> Any:
        if type(env) is not time_limit:
            return None
        below = env.env
        try:
            if type(below) is enforcer:
                if (
                    not below._has_reset
                    or below.step.__func__ is not enforcing_step
                    or below.reset.__func__ is not enforcing_reset
                ):
                    return None
                below = below.env
            if type(below) is checker:
                if (
                    not (below.checked_reset and below.checked_step)
                    or (looks_for_reuse and not below.checked_data_reuse)
                    or below.step.__func__ is not checking_step
                    or below.reset.__func__ is not checking_reset
                ):
                    return None
                below = below.env
        except AttributeError:  # the script has put something that is no method in its place
            return None
        env._mosaic_below, env._elapsed_steps = below, 0
        return below

    return limit_below


def _nothing_below(env: Any) -> Any:
    return None


_CHECKING_STEP = frozenset(("checked_step", "env_step_passive_checker", "env", "step"))
_CHECKING_RESET = frozenset(("checked_reset", "env_reset_passive_checker", "env", "reset"))
_REUSE = frozenset(("checked_data_reuse", "env_data_reuse_passive_checker", "_previous_data"))


def _pass_on_when_checked(wrappers: Any, wrapper: Any) -> bool:
    """Whether these are the methods we know, by what they mention."""
    limit, enforcer, checker = (
        wrappers.TimeLimit,
        wrappers.OrderEnforcing,
        wrappers.PassiveEnvChecker,
    )
    return (
        _passes_on(wrapper, "step")
        and _passes_on(wrapper, "reset")
        and _passes_on(limit, "reset", "_elapsed_steps")
        and _passes_on(enforcer, "step", "_has_reset", "ResetNeeded")
        and _passes_on(enforcer, "reset", "_has_reset")
        and _names(checker.reset) - {"_previous_data"} == _CHECKING_RESET
        and _names(checker.step) in (_CHECKING_STEP, _CHECKING_STEP | _REUSE)
    )


def _passes_on(kind: Any, name: str, *mentioned: str) -> bool:
    """To the next environment, directly or through the method it inherits."""
    names = _names(inspect.unwrap(getattr(kind, name)))
    return names in ({*mentioned, "env", name}, {*mentioned, "super", name})


def _names(function: Any) -> frozenset[str]:
    """All that it mentions besides its arguments."""
    names = function.__code__.co_names if isinstance(function, FunctionType) else ()
    return frozenset(names)


def counting_time_limit(time_limit: Any) -> Callable[..., Any] | None:
    """A step for TimeLimit that limits and counts at once; None where it is not the known one."""
    original = time_limit.__dict__.get("step")
    if not isinstance(original, FunctionType) or not _are_alike(original, _limited_step):
        return None

    def make(unwatched: Unwatched, *, is_recorded: bool = False) -> Any:
        def recorded_step(self: Any, action: Any) -> Any:
            try:
                watch = self._mosaic_watch
                acted = watch.acted  # called as `watch.acted(…)`, it is found four times as slowly
                acted(action)
            except Exception as error:  # noqa: BLE001  # the script goes on
                watch = count_unrecorded(self, error, unwatched)
            try:
                below = self._mosaic_below
            except AttributeError:
                below = self.env
            observation, reward, terminated, truncated, info = below.step(action)
            self._elapsed_steps = elapsed = self._elapsed_steps + 1
            if elapsed >= self._max_episode_steps:
                truncated = True
            try:
                try:
                    earned = watch.earned
                    earned(reward)
                except Exception as error:  # noqa: BLE001  # counting goes on
                    count_unrecorded(self, error, unwatched).count(reward)
                if terminated or truncated or watch.tap.is_due:
                    watch.notice(reward, terminated, truncated)
            except Exception as error:  # noqa: BLE001  # the script goes on
                unwatched(self, error)
            return observation, reward, terminated, truncated, info

        def step(self: Any, action: Any) -> Any:
            try:
                below = self._mosaic_below
            except AttributeError:
                below = self.env
            observation, reward, terminated, truncated, info = below.step(action)
            self._elapsed_steps = elapsed = self._elapsed_steps + 1
            if elapsed >= self._max_episode_steps:
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
