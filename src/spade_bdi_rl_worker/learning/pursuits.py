"""Pursuit: what a plan decided to do next; Step and Outcome: what came of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from spade_bdi_rl_worker.learning import kernels
from spade_bdi_rl_worker.learning.errors import SettingsError
from spade_bdi_rl_worker.learning.kernels import Aim, Floats, Integers
from spade_bdi_rl_worker.learning.settings import require_count

PursuitKind = Literal["explore", "exploit", "subgoal"]


@dataclass(frozen=True)
class Pursuit:
    """For the next episodes. `explore`: as the schedule of ε says. `exploit`: the best known
    action always. `subgoal`: to that state by its own table, from there on as in `explore`.
    """

    kind: PursuitKind = "explore"
    target: int | None = None  # the state of a subgoal
    episodes: int = 1  # at most so many
    epsilon: float | None = None  # None: the schedule's, or 0 for `exploit`
    learns: bool = True  # False: only acts; the schedules stay where they are

    def __post_init__(self) -> None:
        if self.kind not in get_args(PursuitKind):
            raise _wrong("kind", self.kind, f"one of {', '.join(get_args(PursuitKind))}")
        require_count("episodes", self.episodes, 1)
        epsilon = self.epsilon
        if epsilon is not None:
            is_number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
            if not is_number or not (math.isfinite(epsilon) and 0.0 <= epsilon <= 1.0):
                raise _wrong("epsilon", epsilon, "a number from 0 to 1, or nothing")
        if (self.target is None) == (self.kind == "subgoal"):
            raise _wrong("target", self.target, "a state for a subgoal, and nothing elsewhere")
        if self.target is not None:
            require_count("target", self.target, 0)

    @property
    def aim(self) -> Aim:
        epsilon = self.epsilon
        if epsilon is None:
            epsilon = 0.0 if self.kind == "exploit" else -1.0
        return Aim(-1 if self.target is None else self.target, float(epsilon), int(self.learns))


def _wrong(name: str, given: object, wanted: str) -> SettingsError:
    return SettingsError(f"'{name}' is {given!r}; it has to be {wanted}", hint=wanted, field=name)


class Step(NamedTuple):
    """One step; values and confidence are those the action was chosen by, before it was learnt."""

    episode: int
    index: int  # type: ignore[assignment]  # in its episode; tuples have a method of that name
    state: int
    action: int
    reward: float
    next_state: int
    terminated: bool
    truncated: bool
    q_values: tuple[float, ...]
    confidence: float
    by_subgoal: bool  # chosen by the table of a subgoal


@dataclass(frozen=True, eq=False)
class Steps:
    """Many, one after the other, as arrays: a cheap way to write them down."""

    integers: Integers  # columns as in `kernels.R_EPISODE` …
    reals: Floats

    def __len__(self) -> int:
        return len(self.integers)

    def __iter__(self) -> Iterator[Step]:
        for integers, reals in zip(self.integers.tolist(), self.reals.tolist(), strict=True):
            episode, index, state, action, next_state, flags = integers
            reward, confidence, *values = reals
            yield Step(
                episode, index, state, action, reward, next_state,
                bool(flags & kernels.TERMINATED), bool(flags & kernels.TRUNCATED),
                tuple(values), confidence, bool(flags & kernels.WAS_FOLLOWING),
            )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Outcome:
    """Of the episodes that ended; one that was begun goes on with the next pursuit."""

    returns: Floats
    lengths: Integers
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    reached: NDArray[np.bool_]  # the subgoal
    steps: int  # also of an episode that did not end
    was_stopped: bool
    td_error: float  # mean size of the main table's errors; 0 where nothing was learnt

    @property
    def episodes(self) -> int:
        return len(self.returns)
