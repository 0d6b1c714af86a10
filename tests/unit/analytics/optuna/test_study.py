"""Trials are ordered and the best of them marked as Optuna itself would."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.analytics.optuna.study import (
    SortBy,
    Study,
    Trial,
    best_trials,
    chosen_trials,
    costs,
    duration_s,
    parameter_names,
)

optuna = pytest.importorskip("optuna")
START = datetime(2026, 1, 1, 12)


def study_of(directions: list[str], *values: list[float] | None) -> Study:
    trials = [
        Trial(number, "COMPLETE" if value is not None else "FAIL", value)
        for number, value in enumerate(values)
    ]
    return Study("s", directions, trials=trials)


def numbers(trials: list[Trial]) -> list[int]:
    return [trial.number for trial in trials]


@pytest.mark.parametrize(
    ("direction", "order", "best"),
    [("MINIMIZE", [2, 0, 1, 4, 3], {2}), ("MAXIMIZE", [4, 1, 0, 2, 3], {4})],
)
def test_the_best_come_first_whatever_the_direction(
    direction: str, order: list[int], best: set[int]
) -> None:
    study = study_of([direction], [1.0], [2.0], [-5.0], None, [math.inf])
    assert numbers(chosen_trials(study)) == order
    assert best_trials(study) == best


def test_what_is_no_number_is_worse_than_anything_and_never_best() -> None:
    study = study_of(["MAXIMIZE"], [math.nan], [-math.inf], None)
    assert numbers(chosen_trials(study))[-1] == 2
    assert best_trials(study) == {1}
    assert best_trials(study_of(["MINIMIZE"], [math.nan])) == set()


@pytest.mark.parametrize("state", ["RUNNING", "PRUNED", "FAIL", "WAITING"])
def test_only_a_complete_trial_has_an_objective(state: str) -> None:
    study = Study("s", ["MINIMIZE"], trials=[Trial(0, state, [1.0]), Trial(1, "COMPLETE", [2.0])])
    assert best_trials(study) == {1}
    assert numbers(chosen_trials(study)) == [1, 0]
    assert numbers(chosen_trials(study, states=[state])) == [0]


def test_values_that_do_not_fit_the_directions_do_not_count() -> None:
    study = study_of(["MINIMIZE", "MAXIMIZE"], [1.0], [1.0, 2.0], [], [1.0, 2.0, 3.0])
    assert [costs(study, trial) for trial in study.trials] == [None, (1.0, -2.0), None, None]
    assert best_trials(study) == {1}


def test_a_study_without_trials_has_no_best() -> None:
    assert best_trials(study_of(["MINIMIZE"])) == set()
    assert best_trials(study_of(["MINIMIZE", "MINIMIZE"])) == set()
    assert chosen_trials(study_of([])) == []


def test_by_number_and_by_duration() -> None:
    trials = [
        Trial(0, "COMPLETE", [1.0], started_at=START, ended_at=START + timedelta(seconds=5)),
        Trial(1, "COMPLETE", [0.0], started_at=START, ended_at=START + timedelta(seconds=9)),
        Trial(2, "RUNNING", started_at=START),
        Trial(3, "WAITING"),
    ]
    study = Study("s", ["MINIMIZE"], trials=trials)
    assert numbers(chosen_trials(study, SortBy.NUMBER)) == [0, 1, 2, 3]
    assert numbers(chosen_trials(study, SortBy.DURATION)) == [1, 0, 2, 3]
    assert numbers(chosen_trials(study, SortBy.NUMBER, limit=2)) == [0, 1]
    assert duration_s(trials[2]) is None
    assert duration_s(trials[2], START.timestamp() + 3) == 3
    assert duration_s(trials[3], 1e9) is None


def test_parameters_come_in_the_order_they_were_drawn() -> None:
    trials = [
        Trial(0, "COMPLETE", params={"z": 1, "a": 2}),
        Trial(1, "COMPLETE", params={"b": 1, "a": 2}),
    ]
    assert parameter_names(trials) == ["z", "a", "b"]


objectives = st.lists(
    st.lists(st.sampled_from([-1.0, 0.0, 0.5, 2.0]), min_size=2, max_size=2), max_size=12
)


@given(objectives, st.sampled_from(["minimize", "maximize"]))
def test_the_front_is_the_one_that_optuna_finds(values: list[list[float]], second: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    theirs = optuna.create_study(directions=["minimize", second])
    for value in values:
        theirs.add_trial(optuna.trial.create_trial(values=value))
    ours = study_of(["MINIMIZE", second.upper()], *values)
    assert best_trials(ours) == {trial.number for trial in theirs.best_trials}
