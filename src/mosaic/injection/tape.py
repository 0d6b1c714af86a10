"""Tape: how the current episode of an environment began, what was done and what it brought.

A step costs no more than counting it: actions and rewards are appended to lists by C functions, and
the rewards are what counts. All else happens when an episode ends, most of it in another thread.
Episodes that begin without arguments and whose actions are numbers, of which thousands may come in
a second, are appended to one series (`mosaic.injection.series`). Whatever goes wrong here ends the
recording of the episode, and nothing else.
"""

from __future__ import annotations

import copy
import sys
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, Union

from mosaic.injection.random_state import state_memory
from mosaic.injection.series import LONG, Series

NOTHING: Callable[[Any], None] = deque(maxlen=0).append  # in place of an append
BYTES_PER_STEP = 80  # a reward and a reference or two, as Python holds them
_NUMBERS = "biuf"  # kinds of numpy's types that are plain numbers
UNEVEN = "its actions are of several kinds, or a step raised an error"

# How an episode began: as JSON; or with nothing but random numbers, whose memory this is.
Start = Union["dict[str, Any]", bytes]
# An episode that is over: environment, start, form of the actions, actions, rewards, terminated,
# truncated. The form is None where actions are numbers, else what `_examined` says.
Recorded = tuple["dict[str, Any]", Start, "dict[str, Any] | None", Any, "list[Any]", Any, Any]


class Tape:
    """`watch` has `acted` and `earned`, which are called with each action and each reward, and its
    `rewards` are those of this episode from `first` on."""

    __slots__ = (
        "_actions",
        "_env",
        "_environment",
        "_form",
        "_generator",
        "_kind",
        "_lost",
        "_memory",
        "_series",
        "_start",
        "_watch",
    )

    def __init__(
        self,
        watch: Any,
        environment: dict[str, Any],
        unwrapped: Any,
        lost: Callable[[str], None],
    ) -> None:
        self._watch, self._environment, self._lost = watch, environment, lost
        self._env = weakref.ref(unwrapped)  # a tape keeps no environment alive
        self._generator: Any = None  # of the environment's random numbers
        self._memory: Any = None  # where its state is; None where it has to be asked for it
        self._start: Start | None = None  # None: this episode is not recorded
        self._form: dict[str, Any] | None = None
        self._actions: Any = []
        # As those of the episode before; None where that says nothing about the next one.
        self._kind: type | None = None
        self._series: Series | None = None  # to which this episode belongs, or the one before

    def begin(self, seed: Any, options: Any) -> None:
        """Right before the reset."""
        watch = self._watch
        try:
            if seed is None and options is None:
                env: Any = self._env()
                # The property makes a generator where there is none yet, as the reset would.
                generator = env._np_random or env.np_random
                if generator is not self._generator:
                    self._memory, self._generator = state_memory(generator), generator
                if self._memory is None:
                    self._start = {"random_state": generator.bit_generator.state}
                else:
                    self._start = self._memory.raw
                    if self._kind is not None:
                        series = self._series
                        # More actions: steps of an episode that was given up, or after its end.
                        if series is None or not len(self._actions) == series.stop < LONG:
                            self._begin_series()
                        return
            else:
                self._start = self._beginning(seed, options)
            self._series = None
            actions: list[Any] = []
            rewards: list[Any] = []
            self._actions, watch.rewards, watch.first = actions, rewards, 0
            if self._kind is None:
                watch.acted, watch.earned = self._first_action, self._first_reward
            else:
                self._form, watch.acted, watch.earned = None, actions.append, rewards.append
        except Exception as error:  # noqa: BLE001  # the script resets its environment anyway
            self.give_up(f"its beginning is unknown ({error})")

    def _begin_series(self) -> None:
        watch = self._watch
        self._series = series = Series(self._environment)
        self._form, self._actions = None, series.actions
        watch.rewards, watch.first = series.rewards, 0
        watch.acted, watch.earned = series.actions.append, series.rewards.append

    def give_up(self, why: str) -> None:
        """Of this episode; the next one is recorded again. Rewards that were kept still count."""
        self._start = self._kind = self._series = None
        self._watch.acted, self._watch.earned = NOTHING, self._watch.count
        self._actions = []
        self._lost(f"an episode of {self._environment['env_id']} cannot be replayed: {why}")

    def end(self, terminated: Any, truncated: Any) -> Recorded | Series | None:
        """The watch counts from the end of its rewards on already."""
        start, self._start = self._start, None
        if start is None:
            return None
        series, actions = self._series, self._actions
        if series is not None:
            stop = len(actions)
            if type(actions[series.stop]) is self._kind and len(series.rewards) == stop:
                series.ended.append((start, stop, terminated, truncated))
                series.stop = stop
                return series
            self.give_up(UNEVEN)
            return None
        rewards, form = self._watch.rewards, self._form
        self._actions = []
        # A script may step on without a reset.
        self._watch.acted, self._watch.earned = NOTHING, self._watch.count
        if form is None:
            kind = type(actions[0])
            if self._kind is not kind and self._kind is not None:
                self.give_up(UNEVEN)
                return None
            self._kind = kind
        return self._environment, start, form, actions, rewards, terminated, truncated

    def part(self) -> None:
        """After a fork: what has ended before is the parent's; this episode goes on here too."""
        before, self._series = self._series, None
        if before is not None and self._start is not None:
            rewards = before.rewards[before.stop :]
            self._begin_series()
            self._actions += before.actions[before.stop :]
            self._watch.rewards += rewards

    @property
    def size(self) -> int:
        """What it takes in memory, about."""
        actions = self._actions
        more = len(actions) if isinstance(actions, bytearray) else 0
        steps: int = len(self._watch.rewards) - self._watch.first
        return BYTES_PER_STEP * steps + more

    def _beginning(self, seed: Any, options: Any) -> dict[str, Any]:
        start: dict[str, Any] = {}
        if options is not None:
            start["options"] = copy.deepcopy(options)
        if seed is not None:
            start["seed"] = int(seed)
        else:
            env: Any = self._env()
            start["random_state"] = env.np_random.bit_generator.state
        return start

    def _first_action(self, action: Any) -> None:
        self._actions, self._form, keep = _examined(action)
        keep(action)
        self._watch.acted = keep

    def _first_reward(self, reward: Any) -> None:
        if getattr(reward, "ndim", 0) or not hasattr(reward, "__float__"):
            raise TypeError(f"its rewards are {type(reward).__name__}, not numbers")
        keep = self._watch.rewards.append
        keep(reward)
        self._watch.earned = keep


def _examined(action: Any) -> tuple[Any, dict[str, Any] | None, Callable[[Any], None]]:
    """Where actions like this one are kept, in which form, and by what."""
    numpy: Any = sys.modules.get("numpy")
    actions: list[Any] = []
    if type(action) in (int, float, bool):
        return actions, None, actions.append
    if numpy is not None and getattr(getattr(action, "dtype", None), "kind", "") in _NUMBERS:
        if isinstance(action, numpy.generic):
            return actions, None, actions.append
        if isinstance(action, numpy.ndarray):
            # Copied: a script may use its array again for the next action.
            data = bytearray()
            form = {"dtype": action.dtype.str, "shape": list(action.shape)}
            is_plain = type(action) is numpy.ndarray and action.flags.c_contiguous
            return data, form, data.extend if is_plain else _scattered(data, numpy)

    def keep(action: Any) -> None:
        actions.append(copy.deepcopy(action))

    return actions, {"json": True}, keep


def _scattered(data: bytearray, numpy: Any) -> Callable[[Any], None]:
    """For arrays whose numbers do not lie side by side."""

    def keep(action: Any) -> None:
        data.extend(numpy.asarray(action).tobytes())

    return keep
