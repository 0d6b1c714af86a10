"""Trials of a study in the order people want to see them, and which of them are the best. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from enum import StrEnum

from mosaic.analytics.optuna_study import Study, Trial


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
