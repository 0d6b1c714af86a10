"""EnvWatch: what is known about one environment: its steps, its episodes, and its live view."""

from __future__ import annotations

import functools
import operator
import sys
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from mosaic.contracts.ledger import EVALUATION, TRUNCATED
from mosaic.fastlane.slot_writer import Metrics
from mosaic.injection.tape import NOTHING, Recorded, Series, Tape

_ROLLING = 100  # episodes

# Added one after the other, as a script does it; Python's own `sum` is more exact since 3.12.
_total_of: Callable[[list[Any], Any], Any] = (
    sum if sys.version_info < (3, 12) else functools.partial(functools.reduce, operator.add)
)

# Return, length, number of the environment, flags of a ledger, what was recorded of the episode.
Report = Callable[[float, int, int, int, "Recorded | Series | None"], None]


class NoTap:
    """In place of a tap, for an environment that nobody can see."""

    def __init__(self) -> None:
        self.is_due = False  # of the instance, as a tap's: that is found faster

    def show(self) -> None:
        """Never due, so never called."""


NO_TAP = NoTap()


class EnvWatch:
    """`steps` and `total` are of the current episode. The step that adds to them is in `layers`.

    While there is a tape, its rewards from `first` on are what has been counted, on top of these.

    The wrappers within the one that counts have watches too, with `outer`, whose numbers nobody
    reads: adding to them costs a step less than asking whether it should.
    """

    __slots__ = (
        "_evaluation_steps",
        "_is_over",
        "_report",
        "_returns",
        "_training_steps",
        "_zero",
        "acted",
        "earned",
        "episodes",
        "first",
        "is_evaluation",
        "is_kept_for_evaluation",
        "is_new",
        "is_resetting",
        "last_reward",
        "layer",
        "number",
        "outer",
        "owner",
        "rewards",
        "series",
        "steps",
        "tap",
        "tape",
        "told_purpose",
        "total",
    )

    def __init__(self, number: int, report: Report, outer: EnvWatch | None = None) -> None:
        self.number, self._report, self.outer = number, report, outer
        self.layer: type | None = None  # the class whose `step` counts
        self.owner: weakref.ref[Any] | None = None  # the wrapper it counts for
        self.tap: Any = NO_TAP
        self.tape: Tape | None = None  # where episodes are recorded
        # Of the tape: to which this episode belongs, or the one before.
        self.series: Series | None = None
        self.rewards: list[Any] = []
        self.first = 0
        # The tape's, while it records.
        self.acted: Callable[[Any], None] = NOTHING
        self.earned: Callable[[Any], None] = self.count
        self.is_new = True  # nobody has asked for a tap yet
        self.is_resetting = False
        self._zero: Any = 0.0
        self.steps, self.total = 0, self._zero
        self.episodes, self.last_reward = 0, 0.0
        # Of earlier episodes.
        self._training_steps = self._evaluation_steps = 0
        self.is_evaluation = False  # the current episode is
        self.is_kept_for_evaluation = False
        # By another process, which steps this environment: whether it is for evaluation.
        self.told_purpose: bool | None = None
        self._is_over = False
        self._returns: deque[float] = deque(maxlen=_ROLLING)

    @property
    def length(self) -> int:
        """Of the current episode."""
        return self.steps + len(self.rewards) - self.first

    @property
    def training_steps(self) -> int:
        return self._training_steps if self.is_evaluation else self._training_steps + self.length

    def forget_steps(self) -> None:
        """After a fork: they are the parent's."""
        self._training_steps = 0 if self.is_evaluation else -self.length
        self._evaluation_steps = 0

    def count(self, reward: Any) -> None:
        """A step that no tape keeps, in a process that records."""
        self.steps += 1
        self.total += reward

    def start_episode(
        self, is_evaluation: bool = False, seed: Any = None, options: Any = None
    ) -> None:
        """With the outermost reset, which has these arguments and says when it is done."""
        kept = len(self.rewards)
        done = self.steps + kept - self.first
        if self.is_evaluation:
            self._evaluation_steps += done
        else:
            self._training_steps += done
        self.is_evaluation = is_evaluation
        self.first = kept
        self.steps, self.total, self._is_over = 0, self._zero, False
        self.is_resetting = True
        tape = self.tape
        if tape is None:
            return
        series = self.series
        # Most episodes go on with a series, thousands a second: not worth a call.
        # More actions: steps of an episode that was given up, or after its end.
        if series is not None and len(series.actions) == series.stop < series.limit:
            find = tape.find_env
            env: Any = find()
            if env._np_random is tape.generator and seed is None and options is None:
                tape.start = tape.memory.raw
                return
        tape.begin(seed, options)

    def stop_tape(self, error: Exception) -> None:
        """What the step did cannot be recorded."""
        self.acted, self.earned = NOTHING, self.count
        if self.tape is not None:
            self.tape.give_up(f"{type(error).__name__}: {error}")

    def notice(self, reward: Any, terminated: Any, truncated: Any = False) -> None:
        """After a step that ends the episode, or that somebody waits to see."""
        if self.outer is not None:
            return
        if (terminated or truncated) and not self._is_over:  # a script may step on without a reset
            self._is_over = True
            recorded: Recorded | Series | None = None
            steps, total = self.steps, self.total
            rewards, first = self.rewards, self.first
            kept = len(rewards)
            if kept > first:
                self.first = kept
                self.steps = steps = steps + kept - first
                self.total = total = total + _total_of(rewards[first:], self._zero)
                tape = self.tape
                if tape is not None:
                    series, start = self.series, tape.start
                    if (
                        series is not None
                        and start is not None
                        and len(series.actions) == kept
                        and type(series.actions[first]) is tape.kind
                    ):  # as above
                        row = series.row
                        series.rows += row(start, kept - first, terminated, truncated)
                        series.stop, tape.start = kept, None
                        recorded = series
                    else:
                        recorded = tape.end(terminated, truncated)
            if type(total) is not float:
                total = self._finished(total)
            self.episodes += 1
            self._returns.append(total)
            flags = 0 if terminated else TRUNCATED
            if self.is_evaluation:
                flags |= EVALUATION
            report = self._report
            report(total, steps, self.number, flags, recorded)
        if self.tap.is_due:
            self.last_reward = float(reward)
            self.tap.show()

    def _finished(self, total: Any) -> float:
        if getattr(getattr(total, "dtype", None), "kind", "") == "f":
            # Rewards in single precision: from now on their sum is in double precision.
            self._zero = total.dtype.type(0).astype("float64")
        return float(total.item() if hasattr(total, "item") else total)

    def metrics(self) -> Metrics:
        returns = self._returns
        rolling = sum(returns) / len(returns) if returns else 0.0
        steps = self._training_steps + self._evaluation_steps + self.length
        return Metrics(steps, self.episodes, self.last_reward, rolling)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copied or pickled environment is another one: it is watched when it is reset, and its
        # pickle can be read where MOSAIC is not.
        return type(None), ()


def inner_watch(outer: EnvWatch | None) -> EnvWatch:
    """For a wrapper that does not count, inside the one that does or beside all of them."""
    return EnvWatch(-1, _nobody, outer or _NO_WATCH)


def _nobody(total: float, length: int, number: int, flags: int, recorded: Any) -> None:
    """Nobody is told."""


_NO_WATCH = EnvWatch(-1, _nobody)
