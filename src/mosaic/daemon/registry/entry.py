"""Everything the registry holds of one run, as a document that can be kept outside of it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from mosaic.contracts.hostile_text import label_problem
from mosaic.contracts.run_record import RunRecord, Transition
from mosaic.contracts.run_state import RunState
from mosaic.contracts.schema_check import shown
from mosaic.daemon.registry.columns import (
    RUN_COLUMNS,
    TRANSITION_COLUMNS,
    YOUNGER_COLUMNS,
    row_problem,
)
from mosaic.daemon.registry.rows import LISTED, RunRow, record_of, storable
from mosaic.errors import CorruptStoreError

ENTRY_VERSION = 1
MAX_TRANSITIONS = 100_000
MAX_CAPABILITIES_BYTES = 1_000_000
# A file name has 255 bytes, and those of logs have a stream, an ending and a number besides.
_MAX_WORKER_BYTES = 200
# Marks that turn the direction of text round, so that a name reads as another.
_BIDI_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_HISTORY = {name: TRANSITION_COLUMNS[name] for name in ("state", "at", "reason", "attempt")}


class _StoredTransition(msgspec.Struct):
    state: str
    at: float
    reason: str
    attempt: int


_StoredRow = msgspec.defstruct(
    "_StoredRow",
    [
        (name, str | int | float | bool | None | msgspec.UnsetType, msgspec.UNSET)
        for name in RUN_COLUMNS
    ],
)


class _StoredEntry(msgspec.Struct):
    """The types keep what a document can become in memory close to what it is on disk."""

    version: int
    run: _StoredRow  # type: ignore[valid-type]
    transitions: list[_StoredTransition]
    capabilities: msgspec.Raw


@dataclass(frozen=True)
class RunEntry:
    row: RunRow
    transitions: tuple[Transition, ...]
    capabilities: dict[str, Any]

    @property
    def run_id(self) -> str:
        return str(self.row["run_id"])

    def record(self) -> RunRecord:
        """The whole record, as `GetRun` tells it."""
        return replace(
            record_of([self.row[name] for name in LISTED]),
            transitions=self.transitions,
            capabilities=self.capabilities,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "version": ENTRY_VERSION,
            "run": self.row,
            "transitions": [
                {"state": item.state.value, "at": item.at, "reason": item.reason}
                | {"attempt": item.attempt}
                for item in self.transitions
            ],
            "capabilities": self.capabilities,
        }

    @classmethod
    def from_json(cls, document: bytes) -> RunEntry:
        """Of a run that is over. Believes nothing: the document may come from anybody."""
        try:
            stored = msgspec.json.decode(document, type=_StoredEntry)
        except (ValueError, RecursionError) as error:
            raise _wrong(str(error)) from error
        if stored.version != ENTRY_VERSION:
            raise _wrong(f"its version is {shown(stored.version)}; we know {ENTRY_VERSION}")
        told = msgspec.structs.asdict(stored.run)  # what is unset is missing
        known = {name: value for name, value in told.items() if value is not msgspec.UNSET}
        row = _checked_row({**YOUNGER_COLUMNS, **known})
        return cls(row, _checked_history(stored.transitions), _decoded(stored.capabilities))


def _checked_row(stored: dict[str, Any]) -> RunRow:
    """What a row of our own always is; record and paths are built from these values."""
    if problem := row_problem(stored):
        raise _wrong(problem)
    row = {name: storable(name, stored[name]) for name in RUN_COLUMNS}
    if row["state"] != RunState.TERM:
        raise _wrong(f"state is {row['state']}; the run was not over")
    for name in ("outcome", "finished_at"):
        if row[name] is None:
            raise _wrong(f"{name} is missing")
    for name in ("run_name", "group_name"):
        if row[name] and (problem := label_problem(str(row[name]))):
            raise _wrong(f"{name} {problem}")
    # It names the log files.
    worker = str(row["worker"])
    if not is_file_name(worker) or len(worker.encode()) > _MAX_WORKER_BYTES:
        raise _wrong(f"worker is {shown(worker)}, which is not a plain name")
    return row


def _checked_history(stored: list[_StoredTransition]) -> tuple[Transition, ...]:
    if len(stored) > MAX_TRANSITIONS:
        raise _wrong(f"it has {len(stored):,} transitions; {MAX_TRANSITIONS:,} is the limit")
    for number, item in enumerate(stored):
        if problem := row_problem(msgspec.structs.asdict(item), _HISTORY):
            raise _wrong(f"transition {number}: {problem}")
    return tuple(
        Transition(RunState(item.state), item.at + 0.0, item.reason, item.attempt)
        for item in stored
    )


def _decoded(capabilities: msgspec.Raw) -> dict[str, Any]:
    if len(bytes(capabilities)) > MAX_CAPABILITIES_BYTES:
        raise _wrong(f"its capabilities have more than {MAX_CAPABILITIES_BYTES:,} bytes")
    try:
        return msgspec.json.decode(capabilities, type=dict[str, Any])
    except (ValueError, RecursionError) as error:
        raise _wrong(f"capabilities: {error}") from error


def is_file_name(text: str) -> bool:
    """Whether it can name one file, and look like what it is wherever it is shown."""
    letters = set(text)
    is_plain = text not in ("", ".", "..") and not letters & {"/", "\\"}
    is_honest = not letters & _BIDI_MARKS and not any(
        unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in letters
    )
    return is_plain and is_honest and len(text.encode()) <= 255


def _wrong(what: str) -> CorruptStoreError:
    return CorruptStoreError(
        f"What was kept of the run's registry entry cannot be used: {what}"[:500],
        hint="it was changed or damaged after MOSAIC wrote it",
    )
