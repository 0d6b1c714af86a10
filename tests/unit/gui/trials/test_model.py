"""Optuna trials as a table that can be sorted."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from mosaic.analytics.optuna.study import Study, Trial
from mosaic.errors import StoreError
from mosaic.gui.tabs.model import Tone
from mosaic.gui.trials.model import (
    Order,
    TrialsReader,
    first_order,
    nearest,
    places_of,
    study_file,
    trial_lines,
    trials_view,
)
from tests.unit.gui.run_samples import record

START = datetime(2026, 1, 1, 12)


def study(direction: str = "MAXIMIZE") -> Study:
    def trial(number: int, state: str, value: float | None, **params: object) -> Trial:
        ended = None if state == "RUNNING" else START + timedelta(seconds=10 + number)
        values = None if value is None else [value]
        return Trial(number, state, values, dict(params), started_at=START, ended_at=ended)

    return Study(
        "s",
        [direction],
        trials=[
            trial(0, "COMPLETE", 3.0, lr=0.1, act="relu"),
            trial(1, "FAIL", None, lr=0.2, act="tanh"),
            trial(2, "COMPLETE", 9.0, lr=0.05, act="relu"),
            trial(3, "RUNNING", None, lr=0.3),
        ],
    )


def numbers(found: Study, order: Order | None = None) -> list[str]:
    return [row.cells[0] for row in trials_view(found, order, now=START.timestamp()).rows]


def test_the_best_come_first_whichever_way_is_better() -> None:
    assert numbers(study("MAXIMIZE"))[:2] == ["2", "0"]
    assert numbers(study("MINIMIZE"))[:2] == ["0", "2"]


def test_trials_without_a_value_are_last_either_way() -> None:
    assert numbers(study(), Order(1, is_descending=False)) == ["0", "2", "1", "3"]
    assert numbers(study(), Order(1, is_descending=True)) == ["2", "0", "1", "3"]


def test_parameters_and_numbers_sort_too() -> None:
    columns = [column.title for column in trials_view(study()).columns]
    assert columns == ["Trial", "Value ↓", "State", "Time", "lr", "act"]
    assert numbers(study(), Order(4)) == ["2", "0", "1", "3"]
    assert numbers(study(), Order(0, is_descending=True)) == ["3", "2", "1", "0"]


def test_the_best_is_marked_and_states_are_words() -> None:
    view = trials_view(study(), now=START.timestamp() + 5)
    first, *_ = view.rows
    assert first.tone is Tone.GOOD and first.cells[2] == "★ best"
    assert [row.cells[2] for row in view.rows[1:]] == ["complete", "failed", "running"]
    assert view.best == "Best: trial 2, 9 with lr 0.05, act relu"
    assert view.summary == "4 trials (2 complete, 1 running, 1 failed) · maximize"


def test_a_study_without_results_says_so() -> None:
    empty = Study("s", ["MINIMIZE"], trials=[Trial(0, "RUNNING")])
    assert trials_view(empty).best == "No trial is complete yet"
    assert first_order(empty) == Order(1, False)


def test_a_file_that_is_not_there_yet_is_a_sentence(tmp_path: Path) -> None:
    waiting = record(
        paths={"run_directory": str(tmp_path)}, manifest={"optuna_db_path": "sqlite:///study.db"}
    )
    assert study_file(waiting) == tmp_path / "study.db"
    with pytest.raises(StoreError, match="no file yet"):
        TrialsReader(waiting).read()


def test_the_nearest_point_is_told_and_none_that_is_far_away() -> None:
    places = places_of("[[0.1, 0.5], [0.12, 0.5], [0.9, 0.1]]")
    assert nearest(places, (200, 100), 25, 50) == 1
    assert nearest(places, (200, 100), 180, 20) == 2
    assert nearest(places, (200, 100), 100, 50) is None
    assert nearest([], (200, 100), 25, 50) is None


@pytest.mark.parametrize("told", ["", "{", "null", "[1]", '[["a", 1]]'])
def test_a_picture_that_tells_no_points_has_none(told: str) -> None:
    assert places_of(told) == []


def test_a_trial_is_told_with_its_value_and_parameters() -> None:
    lines = trial_lines(Trial(7, "COMPLETE", [0.25], {"lr": 0.001, "act": "relu"}))
    assert lines == ["Trial 7: 0.25", "lr 0.001", "act relu"]
