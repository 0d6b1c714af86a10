"""Tape: how the current episode of an environment began, what was done and what it brought.

A step costs no more than counting it: actions and rewards are appended to lists by C functions,
and the rewards are what counts. All else happens when an episode ends, most of it in another
thread. Episodes that begin without arguments and whose actions are numbers, of which thousands may
come in a second, are appended to one `Series`. Whatever goes wrong here ends the recording of the
episode, and nothing else.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import struct
import sys
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Union

from mosaic.contracts.episode_series import PCG64_BYTES, WORD_BYTES, pcg64_state

# -- Short episodes of one environment, one after the other in the same lists
#
# One thread appends, without a lock, and another one reads what is finished: that does not change
# any more. Lists of their own for each episode would cost both threads several times as much, and
# the garbage collector some more.

LONG = 8000  # steps: with more, an environment has another one
_LENGTH_BYTES = 4


@functools.cache
def _row(start_bytes: int) -> struct.Struct:
    """How an episode began, its length, whether it was terminated, and whether it was truncated.

    Bytes without a meaning follow, so that words of eight bytes stay where such words begin.
    """
    return struct.Struct(f"={start_bytes}sI??2x")


class Finished(NamedTuple):
    """Some episodes. `rows` are as `_row` has it; of actions and rewards, each has its share."""

    environment: dict[str, Any]
    numbers: Sequence[int]
    start_bytes: int
    rows: bytes
    actions: list[Any]
    rewards: list[Any]

    @property
    def row_bytes(self) -> int:
        return _row(self.start_bytes).size

    @property
    def lengths(self) -> list[int]:
        column = memoryview(self.rows).cast("I")
        size = self.row_bytes // _LENGTH_BYTES
        return column[self.start_bytes // _LENGTH_BYTES :: size].tolist()

    @property
    def terminated(self) -> bytes:
        return self.rows[self.start_bytes + _LENGTH_BYTES :: self.row_bytes]

    @property
    def truncated(self) -> bytes:
        return self.rows[self.start_bytes + _LENGTH_BYTES + 1 :: self.row_bytes]

    def each(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Its number, and the episode as a tape tells those that are of no series."""
        at = 0
        rows = _row(self.start_bytes).iter_unpack(self.rows)
        for number, (start, length, *end) in zip(self.numbers, rows):  # noqa: B905  # Python 3.9
            actions, rewards = self.actions[at : at + length], self.rewards[at : at + length]
            yield number, (self.environment, start, None, actions, rewards, *end)
            at += length


class Series:
    """`stop` is where the last episode that has ended stops, in `actions` and `rewards`.

    Of each one that has ended, the tape adds a row to `rows`, made by `row`. Whoever numbers it
    appends to `numbers`, which makes it known. `is_announced`: the other thread has yet to `take`
    what is new. No episode begins here beyond `limit`; when the next one has begun in another
    series, this one `is_over`.
    """

    __slots__ = (
        "_start_bytes",
        "_taken",
        "_taken_steps",
        "actions",
        "environment",
        "is_announced",
        "is_over",
        "limit",
        "numbers",
        "rewards",
        "row",
        "rows",
        "stop",
    )

    def __init__(self, environment: dict[str, Any], start_bytes: int) -> None:
        """Of each episode, how it began takes so many bytes."""
        self.environment = environment
        self._start_bytes = start_bytes
        self.row = _row(start_bytes).pack
        self.rows = bytearray()
        self.actions: list[Any] = []
        self.rewards: list[Any] = []
        self.numbers = array("Q")
        self.stop = 0
        self.limit = LONG
        self.is_announced = self.is_over = False
        self._taken = self._taken_steps = 0  # episodes, and what they did

    def take(self) -> Finished:
        """By the other thread: what is new, at least one episode."""
        self.is_announced = False  # first: what is finished from now on is announced again
        self.limit = 0  # so that an environment that pauses does not keep what is written
        is_over = self.is_over  # before anything else is looked at
        first, self._taken = self._taken, len(self.numbers)
        size = _row(self._start_bytes).size
        finished = Finished(
            self.environment,
            self.numbers[first : self._taken],
            self._start_bytes,
            bytes(self.rows[first * size : self._taken * size]),
            self.actions,
            self.rewards,
        )
        begin = self._taken_steps
        self._taken_steps = stop = begin + sum(finished.lengths)
        if begin == 0 and is_over and len(self.actions) == len(self.rewards) == stop:
            return finished  # nobody appends to these lists any more
        return finished._replace(actions=self.actions[begin:stop], rewards=self.rewards[begin:stop])


# -- The state of an environment's random numbers, taken thousands of times a second
#
# Numpy gives the state of a generator as a dictionary of large integers, which takes 3 µs: more
# than all else that recording an episode takes. Of its usual generator the state lies at an address
# that numpy tells for compiled code. Its bytes are copied from there instead, where what they say
# has been held against the dictionary; anywhere else, the dictionary it is.

# At the address: where the two large numbers are, whether half a number is left, and that half.
# The numbers follow, after at most this much.
_POINTER_BYTES, _HALF_BYTES = 8, 8
_NUMBERS_BYTES = PCG64_BYTES - _HALF_BYTES
_MOST_BETWEEN = 64


def state_memory(generator: Any) -> Any:
    """An object whose `raw` is the state of this generator whenever it is read, as
    `packed_state` takes it; None where the memory of this generator is not known.

    To be used as long as the generator lives.
    """
    bits = generator.bit_generator
    module = type(bits).__module__.partition(".")[0]
    if module != "numpy" or type(bits).__name__ != "PCG64":
        return None
    address = int(bits.ctypes.state_address)
    distance = ctypes.c_uint64.from_address(address).value - address
    if distance % WORD_BYTES or not _POINTER_BYTES + _HALF_BYTES <= distance <= _MOST_BETWEEN:
        return None
    memory = (ctypes.c_char * (distance + _NUMBERS_BYTES)).from_address(address)
    is_understood = pcg64_state(packed_state(memory.raw)) == bits.state
    return memory if is_understood else None


def packed_state(raw: bytes) -> bytes:
    """Without where it was."""
    return raw[_POINTER_BYTES : _POINTER_BYTES + _HALF_BYTES] + raw[-_NUMBERS_BYTES:]


def state_columns(rows: bytes, row_bytes: int, state_bytes: int) -> Iterator[bytes]:
    """What `packed_state` says of the states with which these rows begin: all their first words,
    then all their second ones, and so on. In C, which takes a tenth of the time."""
    words = memoryview(rows).cast("Q")
    size = state_bytes // WORD_BYTES
    half = _POINTER_BYTES // WORD_BYTES
    for place in (half, *range(size - _NUMBERS_BYTES // WORD_BYTES, size)):
        yield words[place :: row_bytes // WORD_BYTES].tobytes()


# -- The tape

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
        "_environment",
        "_form",
        "_lost",
        "_watch",
        "find_env",
        "generator",
        "kind",
        "memory",
        "start",
    )

    def __init__(
        self,
        watch: Any,
        environment: dict[str, Any],
        unwrapped: Any,
        lost: Callable[[str], None],
    ) -> None:
        self._watch, self._environment, self._lost = watch, environment, lost
        self.find_env = weakref.ref(unwrapped)  # a tape keeps no environment alive
        self.generator: Any = None  # of the environment's random numbers
        self.memory: Any = None  # where its state is; None where it has to be asked for it
        self.start: Start | None = None  # None: this episode is not recorded
        self._form: dict[str, Any] | None = None
        self._actions: Any = []
        # As those of the episode before; None where that says nothing about the next one.
        self.kind: type | None = None

    def begin(self, seed: Any, options: Any) -> None:
        """Right before the reset. Not where the series goes on: the watch does that by itself."""
        try:
            if seed is None and options is None:
                find = self.find_env
                env: Any = find()
                # The property makes a generator where there is none yet, as the reset would.
                generator = env._np_random or env.np_random
                if generator is not self.generator:
                    self.memory, self.generator = state_memory(generator), generator
                    self._watch.series = None
                memory = self.memory
                if memory is None:
                    self.start = {"random_state": generator.bit_generator.state}
                else:
                    self.start = memory.raw
                    if self.kind is not None:
                        self._begin_series()
                        return
            else:
                self.start = self._beginning(seed, options)
            self._begin_alone()
        except Exception as error:  # noqa: BLE001  # the script resets its environment anyway
            self.give_up(f"its beginning is unknown ({error})")

    def _begin_alone(self) -> None:
        watch = self._watch
        self._watch.series = None
        actions: list[Any] = []
        rewards: list[Any] = []
        self._actions, watch.rewards, watch.first = actions, rewards, 0
        if self.kind is None:
            watch.acted, watch.earned = self._first_action, self._first_reward
        else:
            self._form, watch.acted, watch.earned = None, actions.append, rewards.append

    def _begin_series(self) -> None:
        watch = self._watch
        before, self._watch.series = self._watch.series, Series(self._environment, len(self.memory))
        if before is not None:
            before.is_over = True
        series = self._watch.series
        self._form, self._actions = None, series.actions
        watch.rewards, watch.first = series.rewards, 0
        watch.acted, watch.earned = series.actions.append, series.rewards.append

    def give_up(self, why: str) -> None:
        """Of this episode; the next one is recorded again. Rewards that were kept still count."""
        self.start = self.kind = self._watch.series = None
        self._watch.acted, self._watch.earned = NOTHING, self._watch.count
        self._actions = []
        self._lost(f"an episode of {self._environment['env_id']} cannot be replayed: {why}")

    def end(self, terminated: Any, truncated: Any) -> Recorded | None:
        """The watch counts from the end of its rewards on already, and has added what it could to
        the series."""
        start, self.start = self.start, None
        if start is None:
            return None
        if self._watch.series is not None:
            self.give_up(UNEVEN)
            return None
        actions = self._actions
        rewards, form = self._watch.rewards, self._form
        self._actions = []
        # A script may step on without a reset.
        self._watch.acted, self._watch.earned = NOTHING, self._watch.count
        if form is None:
            kind = type(actions[0])
            if self.kind is not kind and self.kind is not None:
                self.give_up(UNEVEN)
                return None
            self.kind = kind
        return self._environment, start, form, actions, rewards, terminated, truncated

    def part(self) -> None:
        """After a fork: what has ended before is the parent's; this episode goes on here too."""
        # Not over: it is another process that has it.
        before, self._watch.series = self._watch.series, None
        if before is not None and self.start is not None:
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
            env: Any = self.find_env()
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
