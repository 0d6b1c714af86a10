"""Rows of the registry: what every column may hold, and the records they stand for.

What a column may hold is defined once. Three things follow from that table: how a value of our own
is made to fit (`storable`), whether a row from an archive is taken in, and whether a row that was
stored can be shown (`row_problem`). The ranges are those of the fields in `proto/trainer.proto`;
times are those a calendar knows.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from enum import StrEnum
from typing import Any, NamedTuple

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.run_labels import MAX_NOTE, note_problem, tags_problem
from mosaic.contracts.run_record import (
    Lineage,
    LineageKind,
    Origin,
    Progress,
    RunRecord,
    Transition,
    build_record,
)
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.contracts.schema_check import shortened

SqlValue = str | int | float | None


def row_checksum(values: Iterable[SqlValue]) -> bytes:
    """Eight bytes that depend on every value, its type and its place."""
    # repr() of a string may change with the Unicode tables of a newer Python; its text does not.
    text = "\x1f".join(["'" + v if type(v) is str else repr(v) for v in values])
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


INT32 = 2**31 - 1
UINT32 = 2**32 - 1
# SQLite has no larger integer, whatever a message could carry.
INT64 = 2**63 - 1
# Revisions count up with every change: there must be room above each of them.
MAX_REVISION = 2**53
# 9999-12-31: no calendar of Python goes further.
LAST_MOMENT = 253_402_300_799.0
MAX_TEXT = 100_000
# Of each text of a failure. Escaped as JSON they may take six times the room.
MAX_FAILURE_TEXT = 20_000
_MAX_FAILURE_JSON = 20 * MAX_FAILURE_TEXT
_MAX_FLOAT = sys.float_info.max


class Column(NamedTuple):
    kind: type[str] | type[int] | type[float]
    is_optional: bool = False
    lowest: float = -math.inf
    highest: float = math.inf
    longest: int = MAX_TEXT
    # What else is wrong with a text, or None.
    check: Callable[[str], str | None] | None = None
    # The registry's own, no field of a record.
    is_internal: bool = False
    # The version of run.json that first had it, and what it holds for a run from before.
    since: int = 1
    before: SqlValue = None

    def storable(self, value: Any) -> SqlValue:
        """Exactly the value SQLite will give back, so that a checksum taken now still fits then.

        For values of our own, which may go back to what a worker said: numbers are brought into
        their range, and one that is not a number counts as missing.
        """
        if value is None:
            return None
        if self.kind is str:
            return storable_text(str(value))[: self.longest]
        if self.kind is int:
            return int(max(self.lowest, min(int(value), self.highest)))
        number = float(value) + 0.0  # SQLite keeps no negative zero
        return max(self.lowest, min(number, self.highest)) if math.isfinite(number) else None

    def problem(self, value: Any) -> str | None:
        """Why this cannot stand in the column, or None."""
        kind = type(value)
        if kind is str:
            return self._text_problem(value)
        if value is None:
            return None if self.is_optional else "is missing"
        is_number = kind is int or (kind is float and self.kind is float)
        is_in_range = self.kind is not str and is_number and self.lowest <= value <= self.highest
        # An integer that is not a float would come back from a message as another number.
        if not is_in_range or self.kind(value) != value:
            return f"is {shortened(value)}; it must be {self.description}"
        return None

    def _text_problem(self, value: str) -> str | None:
        if self.kind is not str:
            return f"is {shortened(value)}; it must be {self.description}"
        if len(value) > self.longest:
            return f"has {len(value):,} characters; {self.longest:,} is the limit"
        return self.check(value) if self.check else None

    @property
    def description(self) -> str:
        if self.kind is str:
            return "a text"
        if self.kind is int:  # as integers: not all of them are floats
            return f"a whole number from {int(self.lowest):,} to {int(self.highest):,}"
        if self.highest == _MAX_FLOAT:
            return "a number"
        return f"a number from {self.lowest:,.0f} to {self.highest:,.0f}"


def storable_text(text: str) -> str:
    """Workers may send lone surrogates, which no database can hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _word(choices: Iterable[StrEnum], is_optional: bool = False) -> Column:
    words = frozenset(choice.value for choice in choices)

    def problem(text: str) -> str | None:
        return None if text in words else f"is {shortened(text)}, which is none of {_listed(words)}"

    return Column(str, is_optional, check=problem)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))


def _parent_problem(text: str) -> str | None:
    return None if not text else _run_id_problem(text)


def _run_id_problem(text: str) -> str | None:
    return None if is_run_id(text) else f"is {shortened(text)}, which is no run id"


def _slots_problem(text: str) -> str | None:
    slots = text.split(",") if text else []
    is_list = all(slot.isascii() and slot.isdigit() and len(slot) < 10 for slot in slots)
    return None if is_list else f"is {shortened(text)}, which is no list of GPUs"


def _failure_problem(text: str) -> str | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return f"is {shortened(text)}, which is not JSON"
    if not isinstance(data, dict) or data.keys() - _FAILURE.keys() or "kind" not in data:
        return f"is {shortened(text)}, which is no reason of a failure"
    for name, value in data.items():
        if problem := _FAILURE[name].problem(value):
            return f"has a {name} that {problem}"
    return None


def _tags_problem(text: str) -> str | None:
    return tags_problem(text.split("\n")) if text else None


_TEXT = Column(str)
_OPTIONAL_NUMBER = Column(float, True, -_MAX_FLOAT, _MAX_FLOAT)
TIME = Column(float, False, 0.0, LAST_MOMENT)
_OPTIONAL_TIME = TIME._replace(is_optional=True)
COUNT = Column(int, False, 0, INT64)
_OPTIONAL_COUNT = COUNT._replace(is_optional=True)
_UINT32 = Column(int, False, 0, UINT32)
_OPTIONAL_INT32 = Column(int, True, -INT32 - 1, INT32)
_FLAG = Column(int, False, 0, 1)

_FAILURE: dict[str, Column] = {
    "kind": _word(FailureKind),
    "message": Column(str),
    "hint": Column(str),
    "exit_code": _OPTIONAL_INT32,
    "signal": _OPTIONAL_INT32,
    "error_type": Column(str, True),
}

# Every column of `runs` but the checksum, in the order in which the checksum takes them.
RUN_COLUMNS: dict[str, Column] = {
    "run_id": _TEXT._replace(check=_run_id_problem),
    "client_key": Column(str, True, is_internal=True),
    "run_name": _TEXT,
    "worker": _TEXT,
    "state": _word(RunState),
    "outcome": _word(Outcome, is_optional=True),
    "attempt": _UINT32,
    "priority": Column(int, False, -INT32 - 1, INT32),
    "created_at": TIME,
    "updated_at": TIME,
    "started_at": _OPTIONAL_TIME,
    "finished_at": _OPTIONAL_TIME,
    "agent_id": _TEXT,
    "worker_id": _TEXT,
    "env_id": _TEXT,
    "failure_json": Column(str, True, longest=_MAX_FAILURE_JSON, check=_failure_problem),
    "exit_code": _OPTIONAL_INT32,
    "signal": _OPTIONAL_INT32,
    "stop_reason": _TEXT,
    "stop_requested": _FLAG,
    "stalled": _TEXT,
    # By the worker's clock, which may be anything: it is only ever compared.
    "last_heartbeat_at": _OPTIONAL_NUMBER,
    "steps": COUNT,
    "total_steps": _OPTIONAL_COUNT,
    "episodes": COUNT,
    "total_episodes": _OPTIONAL_COUNT,
    "last_return": _OPTIONAL_NUMBER,
    "mean_return": _OPTIONAL_NUMBER,
    "steps_per_second": _OPTIONAL_NUMBER,
    "cpus": _UINT32,
    "memory_mb": _UINT32,
    "gpu_slots": _TEXT._replace(check=_slots_problem),
    "checkpoint_uri": _TEXT,
    "metrics_digest": _TEXT,
    "capabilities_digest": _TEXT._replace(is_internal=True),
    "config_digest": _TEXT._replace(is_internal=True),
    "quarantined_lines": COUNT,
    "not_before": _OPTIONAL_TIME._replace(is_internal=True),
    "slot": _OPTIONAL_COUNT._replace(is_internal=True),
    "revision": Column(int, False, 0, MAX_REVISION),
    "pinned": _FLAG._replace(since=2, before=0),
    "group_name": _TEXT._replace(since=2, before=""),
    "origin": _word(Origin)._replace(since=3, before=Origin.HERE.value),
    "overall_steps_per_second": _OPTIONAL_NUMBER._replace(since=4),
    # Null: nobody has looked for one yet, see `fill_in_lineage`. Empty: it has none.
    "parent_run": Column(str, True, check=_parent_problem, since=5),
    "lineage_kind": _word(LineageKind, is_optional=True)._replace(since=5),
    "lineage_step": _OPTIONAL_COUNT._replace(since=5),
    "tags": _TEXT._replace(check=_tags_problem, since=6, before=""),  # one a line
    "note": Column(str, longest=MAX_NOTE, check=note_problem, since=6, before=""),
}
NEWEST = max(column.since for column in RUN_COLUMNS.values())
# What a list shows of a run.
LISTED = tuple(name for name, column in RUN_COLUMNS.items() if not column.is_internal)


def columns_younger_than(version: int) -> dict[str, SqlValue]:
    """Columns that a row of this version does not have, with what they hold for it."""
    return {name: column.before for name, column in RUN_COLUMNS.items() if column.since > version}


# The same of `transitions`.
TRANSITION_COLUMNS: dict[str, Column] = {
    "run_id": RUN_COLUMNS["run_id"],
    "n": COUNT,
    "state": RUN_COLUMNS["state"],
    "at": TIME,
    "reason": _TEXT,
    "attempt": _UINT32,
}
EXIT_PROOF_COLUMNS = ("run_id", "attempt", "commitment")


def row_problem(row: Mapping[str, Any], columns: Mapping[str, Column] = RUN_COLUMNS) -> str | None:
    """The first value that cannot be what it should, in a sentence that names it; else None."""
    for name, column in columns.items():
        if name not in row:
            return f"{name} is missing"
        if problem := column.problem(row[name]):
            return f"{name} {problem}"
    return None


LIST_COLUMNS = ", ".join(LISTED)
# A record's fields that take several columns, or one of another name or form.
PROGRESS_COLUMNS = tuple(item.name for item in fields(Progress))
_LINEAGE_COLUMNS = ("parent_run", "lineage_kind", "lineage_step")
_OTHER_COLUMNS = {*PROGRESS_COLUMNS, *_LINEAGE_COLUMNS, "failure_json", "group_name"}
_OTHER_FIELDS = {"progress", "lineage", "failure", "group"}
# SQLite has no truth values.
_FLAGS = tuple(item.name for item in fields(RunRecord) if item.type == "bool")
_STATES = {state.value: state for state in RunState}
_OUTCOMES: dict[str | None, Outcome | None] = {outcome.value: outcome for outcome in Outcome}
_OUTCOMES[None] = None
_ORIGINS = {origin.value: origin for origin in Origin}
_KINDS = {kind.value: kind for kind in LineageKind}
_NO_PROGRESS = Progress()
_NO_VALUES = tuple(getattr(_NO_PROGRESS, name) for name in PROGRESS_COLUMNS)

RunRow = dict[str, SqlValue]


def storable(column: str, value: Any) -> SqlValue:
    return RUN_COLUMNS[column].storable(value)


def columns_of(changes: Mapping[str, Any]) -> RunRow:
    """Fields of a RunRecord (and the registry's own columns) as columns of the table."""
    row: RunRow = {}
    for name, value in changes.items():
        if name == "progress":
            for column in PROGRESS_COLUMNS:
                row[column] = storable(column, getattr(value, column))
        elif name == "failure":
            row["failure_json"] = None if value is None else _failure_text(value)
        elif name == "gpu_slots":
            row["gpu_slots"] = ",".join(str(int(slot)) for slot in value)
        elif name == "tags":
            row["tags"] = storable("tags", "\n".join(value))
        elif name == "lineage":
            row.update(lineage_columns(value))
        elif name == "group":  # a word of SQL, so the column has another name
            row["group_name"] = storable("group_name", value)
        elif name in RUN_COLUMNS:
            row[name] = storable(name, value)
        else:
            raise TypeError(f"a run has no field {name!r} that the registry stores")
    return row


def row_of(record: RunRecord, client_key: str | None, config_digest: str) -> RunRow:
    """A complete row; `capabilities` are stored apart."""
    own = {"client_key": client_key, "config_digest": config_digest, "capabilities_digest": ""}
    names = (RUN_COLUMNS.keys() - _OTHER_COLUMNS) | _OTHER_FIELDS
    row = columns_of({**{name: getattr(record, name, None) for name in names}, **own})
    return {column: row[column] for column in RUN_COLUMNS}


def lineage_columns(lineage: Lineage | None) -> RunRow:
    if lineage is None:
        return {"parent_run": "", "lineage_kind": None, "lineage_step": None}
    return {
        "parent_run": storable("parent_run", lineage.parent_run),
        "lineage_kind": lineage.kind.value,
        "lineage_step": storable("lineage_step", lineage.step),
    }


def record_of(values: Sequence[Any]) -> RunRecord:
    """A record from the columns of LIST_COLUMNS; lists of 10,000 runs go through here."""
    told = dict(zip(LISTED, values, strict=True))
    progress = tuple([told.pop(name) for name in PROGRESS_COLUMNS])
    told["progress"] = Progress(*progress) if progress != _NO_VALUES else _NO_PROGRESS
    told["state"] = _STATES[told["state"]]
    told["outcome"] = _OUTCOMES[told["outcome"]]
    failure = told.pop("failure_json")
    told["failure"] = None if failure is None else failure_of_text(failure)
    slots = told["gpu_slots"]
    told["gpu_slots"] = _slots_of(slots) if slots else ()
    tags = told["tags"]
    told["tags"] = tuple(tags.split("\n")) if tags else ()
    for name in _FLAGS:
        told[name] = bool(told[name])
    told["group"] = told.pop("group_name")
    told["origin"] = _ORIGINS[told["origin"]]
    parent, kind, step = [told.pop(name) for name in _LINEAGE_COLUMNS]
    # An archive may name one without the other.
    told["lineage"] = Lineage(parent, _KINDS[kind], step) if parent and kind else None
    return build_record(told)


@functools.lru_cache(maxsize=1024)
def failure_of_text(text: str) -> FailureReason:
    return FailureReason.from_dict(json.loads(text))


def _failure_text(failure: FailureReason) -> str:
    fields = failure.to_dict()
    for name in ("exit_code", "signal"):
        fields[name] = storable(name, fields[name])
    return json.dumps(
        {
            key: storable_text(item)[:MAX_FAILURE_TEXT] if isinstance(item, str) else item
            for key, item in fields.items()
        }
    )


def _slots_of(text: str) -> tuple[int, ...]:
    return tuple(int(slot) for slot in text.split(","))


def transition_of(values: Sequence[Any]) -> Transition:
    """From the columns state, at, reason, attempt."""
    state, at, reason, attempt = values
    return Transition(_STATES[state], at, reason, attempt)


def transition_row(run_id: str, n: int, transition: Transition) -> tuple[SqlValue | bytes, ...]:
    told = (run_id, n, transition.state, transition.at, transition.reason, transition.attempt)
    columns = TRANSITION_COLUMNS.values()
    values = [column.storable(value) for column, value in zip(columns, told, strict=True)]
    return (*values, row_checksum(values))


def capabilities_document(capabilities: Mapping[str, Any]) -> tuple[str, str]:
    """(digest, text) of a capabilities document; the digest is also its checksum."""
    text = storable_text(json.dumps(capabilities, sort_keys=True, default=str))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest(), text
