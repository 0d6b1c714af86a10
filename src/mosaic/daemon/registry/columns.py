"""What every column of a run may hold, said once.

Three things follow from this table: how a value of our own is made to fit (`storable`), whether a
row from an archive is taken in, and whether a row that was stored can be shown (`row_problem`).
The ranges are those of the fields in `proto/trainer.proto`; times are those a calendar knows.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.run_record import Origin
from mosaic.contracts.run_state import FailureKind, Outcome, RunState
from mosaic.contracts.schema_check import shown
from mosaic.daemon.registry.row_checksum import SqlValue

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

    def storable(self, value: Any) -> SqlValue:
        """Exactly the value SQLite will give back, so that a checksum taken now still fits then.

        For values of our own, which may go back to what a worker said: numbers are brought into
        their range, and one that is no number counts as not told.
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
        # An integer that is no float would come back from a message as another number.
        if not is_in_range or self.kind(value) != value:
            return f"is {shown(value)}; it must be {self.description}"
        return None

    def _text_problem(self, value: str) -> str | None:
        if self.kind is not str:
            return f"is {shown(value)}; it must be {self.description}"
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
        return None if text in words else f"is {shown(text)}, which is none of {_listed(words)}"

    return Column(str, is_optional, check=problem)


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))


def _run_id_problem(text: str) -> str | None:
    return None if is_run_id(text) else f"is {shown(text)}, which is no run id"


def _slots_problem(text: str) -> str | None:
    slots = text.split(",") if text else []
    is_list = all(slot.isascii() and slot.isdigit() and len(slot) < 10 for slot in slots)
    return None if is_list else f"is {shown(text)}, which is no list of GPUs"


def _failure_problem(text: str) -> str | None:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return f"is {shown(text)}, which is not JSON"
    if not isinstance(data, dict) or data.keys() - _FAILURE.keys() or "kind" not in data:
        return f"is {shown(text)}, which is no reason of a failure"
    for name, value in data.items():
        if problem := _FAILURE[name].problem(value):
            return f"has a {name} that {problem}"
    return None


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
    "client_key": Column(str, True),
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
    "capabilities_digest": _TEXT,
    "config_digest": _TEXT,
    "quarantined_lines": COUNT,
    "not_before": _OPTIONAL_TIME,
    "slot": _OPTIONAL_COUNT,
    "revision": Column(int, False, 0, MAX_REVISION),
    "pinned": _FLAG,
    "group_name": _TEXT,
    "origin": _word(Origin),
    "overall_steps_per_second": _OPTIONAL_NUMBER,
}
# Columns younger than the first registry, with what they hold for a run from before.
YOUNGER_COLUMNS: dict[str, SqlValue] = {
    "pinned": 0,
    "group_name": "",
    "origin": Origin.HERE.value,
    "overall_steps_per_second": None,
}
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
