"""Optuna studies as tables: trials sorted as asked, the best ones marked."""

from __future__ import annotations

import json
import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from mosaic.analytics.optuna.reader import open_studies
from mosaic.analytics.optuna.study import (
    Study,
    Trial,
    best_trials,
    costs,
    duration_s,
    parameter_names,
)
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError, StoreError
from mosaic.front.human import amount, decimal, duration
from mosaic.front.references import named_file
from mosaic.gui.tabs.model import Column, Row, Tone

SQLITE_SCHEME = "sqlite:///"
_WORDS = {
    "COMPLETE": "complete",
    "RUNNING": "running",
    "PRUNED": "pruned",
    "FAIL": "failed",
    "WAITING": "waiting",
}
_TONES = {"FAIL": Tone.BAD, "PRUNED": Tone.MUTED, "WAITING": Tone.MUTED}


@dataclass(frozen=True)
class Order:
    column: int
    is_descending: bool = False


@dataclass(frozen=True)
class TrialsView:
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    summary: str
    best: str


class StudyReader(Protocol):
    def read(self) -> list[Study]: ...


class TrialsReader:
    """The studies of one run's file, read beside whoever writes it. Blocking: for a thread."""

    def __init__(self, record: RunRecord) -> None:
        self._path = study_file(record)
        self._reader: StudyReader | None = None

    def read(self) -> list[Study]:
        if self._reader is None:
            if not self._path.is_file():
                raise StoreError(
                    "The study has no file yet",
                    hint=f"it appears with the first trial, as {self._path}",
                )
            self._reader = open_studies(self._path)
        return self._reader.read()


def study_file(record: RunRecord) -> Path:
    if not record.paths:
        raise RequestError(
            "The files of this run are not on this machine",
            hint="open the workbench where its daemon runs",
        )
    named = str(record.manifest.get("optuna_db_path", "")).removeprefix(SQLITE_SCHEME)
    return named_file(record, named, "optuna_db_path")


def first_order(study: Study) -> Order:
    """The best first."""
    return Order(1, study.directions[:1] == ["MAXIMIZE"])


def trials_view(study: Study, order: Order | None = None, now: float | None = None) -> TrialsView:
    best = best_trials(study)
    names = parameter_names(study.trials)
    chosen = order or first_order(study)
    columns = _columns(study, names, chosen)
    moment = time.time() if now is None else now
    rows = [
        Row(
            (study.name, trial.number),
            _cells(study, trial, names, trial.number in best, moment),
            Tone.GOOD if trial.number in best else _TONES.get(trial.state, Tone.PLAIN),
            help="best so far" if trial.number in best else "",
        )
        for trial in sorted_trials(study, chosen, names, moment)
    ]
    return TrialsView(columns, tuple(rows), summary(study), _best_text(study, best))


def summary(study: Study) -> str:
    counts = Counter(trial.state for trial in study.trials)
    states = ", ".join(f"{counts[state]} {word}" for state, word in _WORDS.items() if counts[state])
    aims = " and ".join(direction.lower() for direction in study.directions)
    total = amount(len(study.trials), "trial")
    return f"{total} ({states}) · {aims}" if states else f"{total} · {aims}"


def sorted_trials(study: Study, order: Order, names: Sequence[str], now: float) -> list[Trial]:
    """Trials without that value come last, whichever way it goes."""
    sort_value = _sort_value_of(study, order.column, names, now)
    having = [(value, trial) for trial in study.trials if (value := sort_value(trial)) is not None]
    without = [trial for trial in study.trials if sort_value(trial) is None]
    having.sort(key=lambda pair: pair[1].number)
    try:
        having.sort(key=lambda pair: pair[0], reverse=order.is_descending)
    except TypeError:  # choices of different kinds
        having.sort(key=lambda pair: str(pair[0]), reverse=order.is_descending)
    return [trial for _, trial in having] + without


def _sort_value_of(
    study: Study, column: int, names: Sequence[str], now: float
) -> Callable[[Trial], Any]:
    objectives = len(study.directions)
    if column == 0:
        return lambda trial: trial.number
    if column <= objectives:
        return lambda trial: _objective(study, trial, column - 1)
    if column == objectives + 1:
        return lambda trial: _WORDS.get(trial.state, trial.state)
    if column == objectives + 2:
        return lambda trial: duration_s(trial, now if trial.state == "RUNNING" else None)
    index = column - objectives - 3
    name = names[index] if index < len(names) else ""
    return lambda trial: trial.params.get(name)


def _objective(study: Study, trial: Trial, index: int) -> float | None:
    if costs(study, trial) is None or not trial.values or math.isnan(trial.values[index]):
        return None
    return trial.values[index]


def _columns(study: Study, names: Sequence[str], order: Order) -> tuple[Column, ...]:
    several = len(study.directions) > 1
    values = [
        Column(f"Value {index}" if several else "Value", is_number=True, help=direction.lower())
        for index, direction in enumerate(study.directions, 1)
    ]
    columns = [
        Column("Trial", is_number=True),
        *values,
        Column("State"),
        Column("Time", is_number=True),
        *(Column(name, is_number=_is_number(study, name)) for name in names),
    ]
    if order.column < len(columns):
        sorted_by = columns[order.column]
        arrow = "↓" if order.is_descending else "↑"
        columns[order.column] = replace(sorted_by, title=f"{sorted_by.title} {arrow}")
    return tuple(columns)


def _is_number(study: Study, name: str) -> bool:
    values = (trial.params[name] for trial in study.trials if name in trial.params)
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _cells(
    study: Study, trial: Trial, names: Sequence[str], is_best: bool, now: float
) -> tuple[str, ...]:
    values = [decimal(value) for value in trial.values or ()][: len(study.directions)]
    values += ["–"] * (len(study.directions) - len(values))
    took = duration_s(trial, now if trial.state == "RUNNING" else None)
    return (
        str(trial.number),
        *values,
        "★ best" if is_best else _WORDS.get(trial.state, trial.state.lower()),
        "–" if took is None else duration(took),
        *(_parameter(trial.params[name]) if name in trial.params else "–" for name in names),
    )


def _best_text(study: Study, best: set[int]) -> str:
    if not best:
        return "No trial is complete yet"
    if len(best) > 1:
        return f"{len(best)} trials that no other one beats"
    trial = next(trial for trial in study.trials if trial.number in best)
    values = ", ".join(decimal(value) for value in trial.values or ())
    drawn = ", ".join(f"{name} {_parameter(value)}" for name, value in trial.params.items())
    return f"Best: trial {trial.number}, {values}" + (f" with {drawn}" if drawn else "")


def _parameter(value: Any) -> str:
    return decimal(value) if isinstance(value, float) else str(value)


Place = tuple[float, float]
_NEAR = 12.0  # pixels


def places_of(told: str) -> list[Place]:
    """Where the drawing process says that trials are, from 0 to 1; nothing if it says nothing."""
    try:
        return [(float(x), float(y)) for x, y in json.loads(told)] if told else []
    except (ValueError, TypeError):
        return []


def nearest(places: Sequence[Place], size: Place, x: float, y: float) -> int | None:
    """Which of them is at this place of a picture of this size; None where none is near."""
    away = [math.hypot(left * size[0] - x, top * size[1] - y) for left, top in places]
    at = min(range(len(away)), key=away.__getitem__, default=None)
    return at if at is not None and away[at] <= _NEAR else None


def trial_lines(trial: Trial) -> list[str]:
    values = ", ".join(decimal(value) for value in trial.values or ())
    drawn = [f"{name} {_parameter(value)}" for name, value in trial.params.items()]
    return [f"Trial {trial.number}: {values}", *drawn]
