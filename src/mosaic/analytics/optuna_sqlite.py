"""Reads Optuna studies from SQLite without getting into a writer's way.

A read holds its lock for one page of trials only, so a writer never waits longer than that; where
the writer uses a write-ahead log it does not wait at all. Finished trials never change in Optuna,
so their details are read once.
"""

from __future__ import annotations

import json
import math
import sqlite3
from pathlib import Path

from mosaic.analytics.optuna_study import (
    DECODE_ERRORS,
    DIRECTIONS,
    FINISHED,
    Distribution,
    Study,
    Trial,
    local_time,
)
from mosaic.analytics.readonly_sqlite import (
    LimitedRows,
    Row,
    failures_named,
    read_undisturbed,
)
from mosaic.errors import StoreError
from mosaic.foreign_json import parse_shallow_json

# Together they stand for the tables read below. Optuna has not changed them since its 3.0.
SCHEMA_VERSION = 12
SCHEMA_REVISIONS = frozenset({"v3.0.0.d", "v3.2.0.a"})
PAGE_TRIALS = 500
_NOT_FINITE = {"INF_POS": math.inf, "INF_NEG": -math.inf, "NAN": math.nan}


class SqliteStudies:
    """The studies of one database file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # The row of each finished trial in `trials`, and what was read of it. Ids are used again
        # after a study was deleted; then the row with its times is another one.
        self._finished: dict[Row, Trial] = {}

    def read(self) -> list[Study]:
        """All studies as they are now."""
        with failures_named(self.path, DECODE_ERRORS):
            # Kept only now: a reading may turn out void, and what it saw with it.
            studies, self._finished = read_undisturbed(self.path, self._read)
        return studies

    def _read(self, database: sqlite3.Connection) -> tuple[list[Study], dict[Row, Trial]]:
        finished: dict[Row, Trial] = {}
        _check_version(database, self.path)
        limited = LimitedRows(self.path)
        studies = _studies(database, limited)
        for study_id, study in studies.items():
            last_id = -1
            while rows := self._read_page(database, limited, study_id, last_id, study, finished):
                if rows[-1][0] <= last_id:
                    raise ValueError("the trials are out of order")
                last_id = rows[-1][0]
        return list(studies.values()), finished

    def _read_page(
        self,
        database: sqlite3.Connection,
        limited: LimitedRows,
        study_id: int,
        after: int,
        study: Study,
        finished: dict[Row, Trial],
    ) -> list[Row]:
        database.execute("BEGIN")
        try:
            found = database.execute(
                "SELECT trial_id, study_id, number, state, datetime_start, datetime_complete"
                " FROM trials WHERE study_id = ? AND trial_id > ? ORDER BY trial_id LIMIT ?",
                (study_id, after, PAGE_TRIALS),
            )
            rows = list(limited.take(found))
            unknown = [row for row in rows if row not in self._finished]
            details = _Details(database, limited, [row[0] for row in unknown])
        finally:
            database.execute("COMMIT")
        for row in rows:
            trial = self._finished.get(row) or details.trial(row)
            study.trials.append(trial)
            if trial.state in FINISHED:
                finished[row] = trial
        return rows


class _Details:
    """What the other tables say about some trials."""

    def __init__(
        self, database: sqlite3.Connection, limited: LimitedRows, trial_ids: list[int]
    ) -> None:
        self._database = database
        self._limited = limited
        self._ids = json.dumps(trial_ids)
        self._params = self._rows("trial_params", "param_name, param_value, distribution_json")
        self._values = self._rows("trial_values", "objective, value, value_type")
        self._intermediate = self._rows(
            "trial_intermediate_values", "step, intermediate_value, intermediate_value_type"
        )
        self._attrs = self._rows("trial_user_attributes", "key, value_json")
        self._distributions: dict[str, Distribution] = {}

    def trial(self, row: Row) -> Trial:
        trial_id, _, number, state, start, end = row
        values = [_value(*stored) for _, *stored in sorted(self._values.get(trial_id, []))]
        return Trial(
            number=number,
            state=state,
            values=values or None,
            params={
                name: self._distribution(text).decode(stored)
                for name, stored, text in self._params.get(trial_id, [])
            },
            user_attrs={
                key: parse_shallow_json(text) for key, text in self._attrs.get(trial_id, [])
            },
            intermediate_values={
                step: _value(*stored) for step, *stored in self._intermediate.get(trial_id, [])
            },
            started_at=local_time(start or None),
            ended_at=local_time(end or None),
        )

    def _rows(self, table: str, columns: str) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {}
        query = f"SELECT trial_id, {columns} FROM {table}"
        query += " WHERE trial_id IN (SELECT value FROM json_each(?))"
        rows = self._database.execute(query, (self._ids,))
        # Sorted here: SQLite would first put all rows aside, however many there are.
        for trial_id, *row in sorted(self._limited.take(rows), key=lambda row: row[:2]):
            found.setdefault(trial_id, []).append(tuple(row))
        return found

    def _distribution(self, text: str) -> Distribution:
        if text not in self._distributions:
            self._distributions[text] = Distribution.from_json(text)
        return self._distributions[text]


def _value(stored: float | None, kind: str) -> float:
    if kind in _NOT_FINITE:
        return _NOT_FINITE[kind]
    return math.nan if stored is None else float(stored)


def _studies(database: sqlite3.Connection, limited: LimitedRows) -> dict[int, Study]:
    def rows(query: str) -> list[Row]:
        return list(limited.take(database.execute(query)))

    names = rows("SELECT study_id, study_name FROM studies ORDER BY study_id")
    studies = {study_id: Study(name, []) for study_id, name in names}
    query = "SELECT study_id, objective, direction FROM study_directions"
    for study_id, _, direction in sorted(rows(query)):
        if direction not in DIRECTIONS:
            raise ValueError(f"the direction {str(direction)[:20]!r}")
        if study_id in studies:
            studies[study_id].directions.append(direction)
    query = "SELECT study_id, key, value_json FROM study_user_attributes"
    for study_id, key, text in rows(query):
        if study_id in studies:
            studies[study_id].user_attrs[key] = parse_shallow_json(text)
    return studies


def _check_version(database: sqlite3.Connection, path: Path) -> None:
    try:
        version = database.execute("SELECT schema_version FROM version_info").fetchone()
        revision = database.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" not in str(error):
            raise
        raise StoreError(f"{path} holds no Optuna studies", path=str(path)) from error
    if version != (SCHEMA_VERSION,) or revision is None or revision[0] not in SCHEMA_REVISIONS:
        raise StoreError(
            f"{path} has a schema of Optuna that is not known here: {version}, {revision}",
            hint="`optuna storage upgrade` brings an old one up to date",
            path=str(path),
        )
