"""Studies and trials of Optuna: their parameters, their order, and which are the best. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from mosaic.foreign.files import parse_shallow_json

# What decoding of hostile or foreign data may raise.
DECODE_ERRORS = (ValueError, TypeError, KeyError, IndexError, RecursionError, OverflowError)
STATES = ("RUNNING", "COMPLETE", "PRUNED", "FAIL", "WAITING")
DIRECTIONS = ("NOT_SET", "MINIMIZE", "MAXIMIZE")
_EARLIEST_YEAR, _LATEST_YEAR = 1971, 9000
FINISHED = frozenset({"COMPLETE", "PRUNED", "FAIL"})


@dataclass
class Trial:
    """One trial; times are naive local ones, as Optuna itself hands them out."""

    number: int
    state: str
    values: list[float] | None = None
    params: dict[str, Any] = field(default_factory=dict)
    user_attrs: dict[str, Any] = field(default_factory=dict)
    intermediate_values: dict[int, float] = field(default_factory=dict)
    started_at: datetime | None = None
    ended_at: datetime | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.number, int) or self.state not in STATES:
            raise TypeError("neither the number nor the state of a trial")


def objectives(said: Any) -> list[float] | None:
    """Raises an error of DECODE_ERRORS for what are no numbers."""
    if said is None:
        return None
    if not isinstance(said, list):
        raise TypeError("the values of a trial are no list")
    return [float(value) for value in said]


def local_time(text: str | None) -> datetime | None:
    """The naive local time that is meant, if it is one a trial can have begun or ended at."""
    if text is None:
        return None
    at = datetime.fromisoformat(text)
    if not _EARLIEST_YEAR <= at.year <= _LATEST_YEAR:
        raise ValueError(f"the year {at.year}")
    return at.astimezone().replace(tzinfo=None)


@dataclass
class Study:
    name: str
    directions: list[str]
    user_attrs: dict[str, Any] = field(default_factory=dict)
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise TypeError("the name of a study is no text")


@dataclass(frozen=True)
class Distribution:
    """From what a parameter was drawn, which says what its stored number means."""

    kind: str
    choices: tuple[Any, ...] = ()
    is_log: bool = False

    @classmethod
    def from_json(cls, text: str) -> Distribution:
        data = parse_shallow_json(text)
        kind = data.get("name") or f"{data['type'].capitalize()}Distribution"
        attributes = data.get("attributes", data)
        choices = attributes["choices"] if kind == "CategoricalDistribution" else ()
        return cls(kind, tuple(choices), bool(attributes.get("log", False)))

    def decode(self, stored: float) -> Any:
        if self.kind == "CategoricalDistribution":
            index = int(stored)
            if index < 0:
                raise ValueError("a choice before the first")
            return self.choices[index]
        # Before Optuna 3 there were IntUniform… and IntLogUniform… as well.
        return int(stored) if self.kind.startswith("Int") else float(stored)


class SortBy(StrEnum):
    VALUE = "value"
    NUMBER = "number"
    DURATION = "duration"


def duration_s(trial: Trial, now: float | None = None) -> float | None:
    """How long it took; for one that runs, how long it has run by `now`."""
    if trial.started_at is None:
        return None
    if trial.ended_at is None:
        return None if now is None else now - trial.started_at.timestamp()
    return (trial.ended_at - trial.started_at).total_seconds()


def costs(study: Study, trial: Trial) -> tuple[float, ...] | None:
    """The objectives, the smaller the better whatever their direction; None where there are none.

    Only finished trials have objectives that count; what is not a number is worse than anything.
    """
    values = trial.values
    if trial.state != "COMPLETE" or not values or len(values) != len(study.directions):
        return None
    signed = (
        -value if direction == "MAXIMIZE" else value
        for value, direction in zip(values, study.directions, strict=True)
    )
    return tuple(math.inf if math.isnan(cost) else cost for cost in signed)


def best_trials(study: Study) -> set[int]:
    """Numbers of the best trials: with several objectives, all that no other one beats."""
    ranked = [
        (cost, trial.number)
        for trial in study.trials
        if (cost := costs(study, trial)) is not None
        and not any(map(math.isnan, trial.values or ()))
    ]
    if len(study.directions) == 1:
        # As Optuna: the first of several that are equally good.
        return {min(ranked)[1]} if ranked else set()
    return _pareto_front(ranked)


def _pareto_front(ranked: list[tuple[tuple[float, ...], int]]) -> set[int]:
    front: list[tuple[tuple[float, ...], int]] = []
    # In this order nobody is beaten by one that comes later.
    for cost, number in sorted(ranked):
        if not any(_beats(other, cost) for other, _ in front):
            front.append((cost, number))
    return {number for _, number in front}


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def chosen_trials(
    study: Study,
    sort: SortBy = SortBy.VALUE,
    states: Collection[str] = (),
    limit: int | None = None,
) -> list[Trial]:
    """The best first, or the first, or the longest; trials without that figure come last."""
    trials = [trial for trial in study.trials if not states or trial.state in states]
    if sort is SortBy.NUMBER:
        trials.sort(key=lambda trial: trial.number)
    elif sort is SortBy.DURATION:
        trials.sort(key=lambda trial: (-(duration_s(trial) or -1.0), trial.number))
    else:
        nothing = (math.inf,) * len(study.directions)
        trials.sort(
            key=lambda trial: (
                (cost := costs(study, trial)) is None,
                nothing if cost is None else cost,
                trial.number,
            )
        )
    return trials if limit is None else trials[:limit]


def parameter_names(trials: Sequence[Trial]) -> list[str]:
    """In the order in which the trials drew them."""
    return list(dict.fromkeys(name for trial in trials for name in trial.params))
