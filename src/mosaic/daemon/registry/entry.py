"""Everything the registry holds of one run, as a document that can be kept outside of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.hostile_text import is_run_id, label_problem
from mosaic.contracts.run_record import Origin, Transition
from mosaic.contracts.run_state import FailureReason, Outcome, RunState
from mosaic.daemon.registry.rows import (
    RUN_COLUMNS,
    YOUNGER_COLUMNS,
    RunRow,
    storable,
    storable_text,
)
from mosaic.errors import CorruptStoreError

ENTRY_VERSION = 1
MAX_TRANSITIONS = 100_000
MAX_TEXT = 100_000
_NULLABLE = {
    *("client_key", "outcome", "started_at", "finished_at", "failure_json", "exit_code"),
    *("signal", "last_heartbeat_at", "total_steps", "total_episodes", "last_return"),
    *("mean_return", "steps_per_second", "not_before", "slot"),
}


@dataclass(frozen=True)
class RunEntry:
    row: RunRow
    transitions: tuple[Transition, ...]
    capabilities: dict[str, Any]

    @property
    def run_id(self) -> str:
        return str(self.row["run_id"])

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
    def from_dict(cls, data: Any) -> RunEntry:
        """Of a run that is over. Believes nothing: the document may come from anybody."""
        try:
            if data["version"] != ENTRY_VERSION:
                raise _wrong(f"its version is {data['version']!r}; we know {ENTRY_VERSION}")
            stored = {**YOUNGER_COLUMNS, **data["run"]}
            row: RunRow = {name: storable(name, stored[name]) for name in RUN_COLUMNS}
            told = data["transitions"][:MAX_TRANSITIONS]
            transitions = tuple(
                Transition(
                    RunState(item["state"]),
                    float(item["at"]),
                    storable_text(str(item["reason"]))[:MAX_TEXT],
                    int(item["attempt"]),
                )
                for item in told
            )
            capabilities = dict(data["capabilities"])
            _check(row)
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise _wrong(f"{type(error).__name__}: {error}") from error
        return cls(row, transitions, capabilities)


def _check(row: RunRow) -> None:
    """What a row of our own always is; record and paths are built from these values."""
    for name, value in row.items():
        if value is None and name not in _NULLABLE:
            raise _wrong(f"{name} is missing")
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise _wrong(f"{name} is too long")
    if not is_run_id(row["run_id"]):
        raise _wrong("run_id is not a run id")
    if row["state"] != RunState.TERM:
        raise _wrong("the run was not over")
    Outcome(str(row["outcome"]))
    Origin(str(row["origin"]))
    if row["failure_json"] is not None:
        FailureReason.from_dict(json.loads(str(row["failure_json"])))
    if row["finished_at"] is None:
        raise _wrong("finished_at is missing")
    for name in ("run_name", "group_name"):
        if row[name] and (problem := label_problem(str(row[name]))):
            raise _wrong(f"{name} {problem}")
    # It names the log files.
    if not is_file_name(str(row["worker"])):
        raise _wrong("worker is not a plain name")


def is_file_name(text: str) -> bool:
    return 0 < len(text) <= 255 and text not in (".", "..") and not set(text) & {"/", "\0"}


def _wrong(what: str) -> CorruptStoreError:
    return CorruptStoreError(
        f"What was kept of the run's registry entry cannot be used: {what}"[:500],
        hint="it was changed or damaged after MOSAIC wrote it",
    )
