"""Opens and reads Optuna studies, whichever of the two kinds of file holds them.

Optuna takes a lock before it appends to a journal, but readers need none: a line counts once it is
whole. A read of SQLite holds its lock for one page of trials only, so a writer never waits longer
than that; where the writer uses a write-ahead log it does not wait at all. Finished trials never
change in Optuna, so their details are read once.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.analytics.growing_records import GrowingRecords, RecordBatch, unreadable
from mosaic.analytics.optuna.readonly_sqlite import (
    LimitedRows,
    Row,
    failures_named,
    read_undisturbed,
)
from mosaic.analytics.optuna.study import (
    DECODE_ERRORS,
    DIRECTIONS,
    FINISHED,
    STATES,
    Distribution,
    Study,
    Trial,
    local_time,
    objectives,
)
from mosaic.errors import CorruptStoreError, StoreError
from mosaic.foreign.files import open_regular, parse_shallow_json

# More of them say nothing new about a file that is not a journal at all.
MAX_PROBLEMS = 20
_REASON_CHARACTERS = 120
MAX_LINE_BYTES = 8 * 1_048_576

_Operation = dict[str, Any]


class _Lines(GrowingRecords):
    def _split(self, data: bytes, available: int, batch: RecordBatch) -> int:
        end = data.rfind(b"\n") + 1
        if end:
            batch.records.extend(data[: end - 1].split(b"\n"))
        elif len(data) >= self.max_record_bytes:
            self._report(batch, self.offset, "a line longer than allowed, cut in pieces,")
            return len(data)
        else:
            longer = min(2 * len(data), available, self.max_record_bytes)
            self._wanted = max(self._chunk_bytes, longer)
        return end


class JournalStudies:
    """The studies of one journal file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[StoreError] = []
        self._lines = _Lines(path, max_record_bytes=MAX_LINE_BYTES)
        self._replay = _Replay()

    def read(self) -> list[Study]:
        """All studies as they are now; the lists are live, a later `read` continues with them."""
        has_more = True
        restarts = 0
        while has_more and restarts < 2:
            batch = self._lines.next_batch()
            has_more = batch.has_more
            if batch.is_restarted:
                self._replay = _Replay()
                restarts += 1
            self.problems.extend(batch.problems)
            for line in batch.records:
                self._apply(line)
        return list(self._replay.studies.values())

    def _apply(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            operation = parse_shallow_json(line)
            self._replay.apply(operation)
        except (*DECODE_ERRORS, AttributeError) as error:
            if len(self.problems) < MAX_PROBLEMS:
                reason = f"{type(error).__name__}: {error}"[:_REASON_CHARACTERS]
                sentence = f"{self.path}: a line is not what Optuna writes, left out: {reason}"
                self.problems.append(CorruptStoreError(sentence, path=str(self.path)))


class _Replay:
    """Carries operations out as Optuna does.

    A worker writes an operation before it knows whether it is allowed; those that are not stay in
    the journal, and everybody passes over them by the same rules.
    """

    def __init__(self) -> None:
        self.studies: dict[int, Study] = {}
        self._next_study_id = 0
        self._trials: list[tuple[int, Trial]] = []
        self._first_distributions: dict[tuple[int, str], Distribution] = {}
        self._operations: dict[int, Callable[[_Operation], None]] = {
            0: self._create_study,
            1: self._delete_study,
            2: self._set_study_user_attr,
            4: self._create_trial,
            5: self._set_param,
            6: self._set_state,
            7: self._set_intermediate_value,
            8: self._set_user_attr,
        }

    def apply(self, operation: _Operation) -> None:
        # Attributes of the system (3, 9) and operations of other writers (10) do not show.
        carry_out = self._operations.get(operation["op_code"])
        if carry_out is not None:
            carry_out(operation)

    def _create_study(self, said: _Operation) -> None:
        if said["study_name"] in {study.name for study in self.studies.values()}:
            return
        directions = [DIRECTIONS[number] for number in said["directions"]]
        self.studies[self._next_study_id] = Study(said["study_name"], directions)
        self._next_study_id += 1

    def _delete_study(self, said: _Operation) -> None:
        self.studies.pop(said["study_id"], None)

    def _set_study_user_attr(self, said: _Operation) -> None:
        study = self.studies.get(said["study_id"])
        if study is not None:
            study.user_attrs.update(said["user_attr"])

    def _create_trial(self, said: _Operation) -> None:
        study_id = said["study_id"]
        study = self.studies.get(study_id)
        if study is None:
            return
        trial = Trial(
            number=len(study.trials),
            state=STATES[said.get("state", 0)],
            user_attrs=dict(said.get("user_attrs", {})),
            intermediate_values={
                int(step): float(value)
                for step, value in said.get("intermediate_values", {}).items()
            },
            started_at=local_time(said["datetime_start"]),
            ended_at=local_time(said.get("datetime_complete")),
        )
        value = said.get("value")
        trial.values = objectives(said.get("values") if value is None else [value])
        drawn = said.get("distributions", {})
        for name, stored in said.get("params", {}).items():
            self._place_param(study_id, trial, name, stored, drawn[name])
        study.trials.append(trial)
        self._trials.append((study_id, trial))

    def _set_param(self, said: _Operation) -> None:
        found = self._open_trial(said)
        if found is not None:
            study_id, trial = found
            name, stored = said["param_name"], said["param_value_internal"]
            self._place_param(study_id, trial, name, stored, said["distribution"])

    def _place_param(
        self, study_id: int, trial: Trial, name: str, stored: float, text: str
    ) -> None:
        drawn = Distribution.from_json(text)
        if self._first_distributions.setdefault((study_id, name), drawn) == drawn:
            trial.params[name] = drawn.decode(stored)

    def _set_state(self, said: _Operation) -> None:
        found = self._open_trial(said)
        state = STATES[said["state"]]
        if found is None or state == found[1].state == "RUNNING":
            return
        trial = found[1]
        if state == "RUNNING":
            trial.started_at = local_time(said["datetime_start"])
        elif state in FINISHED:
            trial.ended_at = local_time(said["datetime_complete"])
        trial.state = state
        if said["values"] is not None:
            trial.values = objectives(said["values"])

    def _set_intermediate_value(self, said: _Operation) -> None:
        found = self._open_trial(said)
        if found is not None:
            found[1].intermediate_values[int(said["step"])] = float(said["intermediate_value"])

    def _set_user_attr(self, said: _Operation) -> None:
        found = self._open_trial(said)
        if found is not None:
            found[1].user_attrs.update(said["user_attr"])

    def _open_trial(self, said: _Operation) -> tuple[int, Trial] | None:
        """The trial meant, unless it is over (or was never there)."""
        number = said["trial_id"]
        if not 0 <= number < len(self._trials):
            return None
        found = self._trials[number]
        return None if found[1].state in FINISHED else found


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


_SQLITE_MARK = b"SQLite format 3\0"


def open_studies(path: Path | str) -> SqliteStudies | JournalStudies:
    """A reader for this file; each `read()` gives the studies as they are then."""
    file = Path(path)
    try:
        with os.fdopen(open_regular(file), "rb") as opened:
            mark = opened.read(len(_SQLITE_MARK))
    except FileNotFoundError as error:
        raise StoreError(f"There is no file {file}", path=str(file)) from error
    except OSError as error:
        raise unreadable(file, error) from error
    return SqliteStudies(file) if mark == _SQLITE_MARK else JournalStudies(file)
