"""What the registry holds of one run, as a document outside of it.

`run.json` lies in the run's folder: what no other file of the run says. It is written before the
run's row is committed, and once more when the run is over. A lost registry can thus be rebuilt from
the runs' directories, with the right names and outcomes. A `RunEntry` is everything, for the trash
and for archives.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from mosaic.contracts.hostile_text import label_problem
from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import RunRecord, Transition
from mosaic.contracts.run_state import RunState
from mosaic.contracts.schema_check import shortened
from mosaic.daemon.registry.rows import (
    LISTED,
    NEWEST,
    RUN_COLUMNS,
    TRANSITION_COLUMNS,
    RunRow,
    columns_younger_than,
    record_of,
    row_checksum,
    row_of,
    row_problem,
    storable,
)
from mosaic.errors import CorruptStoreError
from mosaic.files import atomic_write_json, make_directory, read_json

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
        """Of a run that is over. Trusts nothing: the document may come from anybody."""
        try:
            stored = msgspec.json.decode(document, type=_StoredEntry)
        except (ValueError, RecursionError) as error:
            raise _wrong(str(error)) from error
        if stored.version != ENTRY_VERSION:
            raise _wrong(f"its version is {shortened(stored.version)}; we know {ENTRY_VERSION}")
        told = msgspec.structs.asdict(stored.run)  # what is unset is missing
        known = {name: value for name, value in told.items() if value is not msgspec.UNSET}
        row = _checked_row({**columns_younger_than(1), **known})
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
        raise _wrong(f"worker is {shortened(worker)}, which is not a plain name")
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


RUN_FILE_VERSION = NEWEST


@dataclass(frozen=True)
class NewRun:
    """A run about to be created; `record` is as its submitter described it."""

    record: RunRecord
    # The same key always means the same run, however often it is submitted.
    client_key: str | None = None
    config_digest: str = ""


def write_run_file(files: RunFiles, new: NewRun) -> None:
    """Must happen before `Registry.create_run`: recovery relies on every run having this file."""
    make_directory(files.directory, mode=0o700)
    write_row_file(files, row_of(new.record, new.client_key, new.config_digest))


def write_row_file(files: RunFiles, row: RunRow) -> None:
    """Fails when the directory is gone: a run deleted meanwhile must not come back."""
    document = {
        "version": RUN_FILE_VERSION,
        "run": row,
        "checksum": _checksum(row),
    }
    atomic_write_json(files.record, document)


def read_run_file(files: RunFiles, run_id: str = "") -> RunRow:
    """The row as it was written; raises CorruptStoreError, which says what is wrong with it.

    The folder is named after its run, except in a bundle: then `run_id` says whose it must be.
    """
    name = files.record.name
    try:
        document: Any = read_json(files.record)
        if document is None:
            raise CorruptStoreError(f"{name} is missing")
        stored, checksum = document["run"], document["checksum"]
        younger = columns_younger_than(_known_version(document["version"]))
        known = [column for column in RUN_COLUMNS if column not in younger]
        row: RunRow = {**{column: stored[column] for column in known}, **younger}
    except OSError as error:
        raise CorruptStoreError(f"{name} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError, KeyError) as error:
        raise CorruptStoreError(f"{name} is no record of a run") from error
    if problem := row_problem(row):
        raise CorruptStoreError(f"{name}: {problem}")
    if checksum != _checksum({column: row[column] for column in known}):
        raise CorruptStoreError(f"{name} does not match its checksum")
    if row["run_id"] != (run_id or files.directory.name):
        raise CorruptStoreError(f"{name} speaks of the run {row['run_id']}")
    return row


def _known_version(version: Any) -> int:
    if type(version) is not int or not 1 <= version <= RUN_FILE_VERSION:
        raise ValueError(version)
    return version


def _checksum(row: RunRow) -> str:
    return row_checksum(item for pair in sorted(row.items()) for item in pair).hex()
