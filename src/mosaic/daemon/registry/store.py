"""What the registry does to its tables, all on one connection and in the writer's thread.

No operation commits. The writer groups them into transactions, see `writer`.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping
from typing import Any

from mosaic.contracts.run_labels import MARK, LabelChange, free_name
from mosaic.contracts.run_record import RunRecord, Transition
from mosaic.contracts.run_state import LEGAL_TRANSITIONS, RunState
from mosaic.daemon.registry.documents import NewRun, RunEntry
from mosaic.daemon.registry.rows import (
    RUN_COLUMNS,
    RunRow,
    SqlValue,
    capabilities_document,
    columns_of,
    row_checksum,
    row_of,
    storable,
    transition_row,
)
from mosaic.errors import RunStateError, UnknownRunError

# The outcome of a run; nothing may change it once the run is over.
OUTCOME_FIELDS = frozenset(
    {"outcome", "failure_json", "exit_code", "signal", "stop_reason", "finished_at"}
)
# What journals tell of a run while it lives; `update_progress` takes it from a record.
PROGRESS_FIELDS = (
    "progress",
    "last_heartbeat_at",
    "stalled",
    "quarantined_lines",
    "env_id",
    "checkpoint_uri",
    "metrics_digest",
)
_NAMES = tuple(RUN_COLUMNS)
_INSERT_RUN = (
    f"INSERT INTO runs ({', '.join(_NAMES)}, checksum)"
    f" VALUES ({', '.join('?' * (len(_NAMES) + 1))})"
)
# Keys never change, and names rarely do; leaving them out spares SQLite the work on their indexes.
_INDEXED = ("run_id", "client_key", "run_name")
_MUTABLE = tuple(name for name in _NAMES if name not in _INDEXED)
_UPDATE_RUN = (
    f"UPDATE runs SET {', '.join(f'{name} = ?' for name in _MUTABLE)}, checksum = ?"
    " WHERE run_id = ?"
)
_SELECT_RUN = f"SELECT {', '.join(_NAMES)} FROM runs WHERE run_id = ?"
_INSERT_TRANSITION = "INSERT INTO transitions VALUES (?, ?, ?, ?, ?, ?, ?)"


class RegistryStore:
    """Owns the counters; used by one thread at a time."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        counters = connection.execute("SELECT next_slot, revision FROM meta").fetchone()
        self.next_slot: int
        self.revision: int
        self.next_slot, self.revision = counters or (1, 0)
        # Rows of runs whose run.json is due after the present transaction: they ended in it,
        # changed after their end, or got another name than they were submitted with.
        self.changed: list[RunRow] = []

    def create_run(self, new: NewRun) -> tuple[str, bool]:
        if new.client_key is not None:
            known = self.connection.execute(
                "SELECT run_id FROM runs WHERE client_key = ?", (new.client_key,)
            ).fetchone()
            if known:
                return str(known[0]), False
        record = new.record
        row = row_of(record, new.client_key, new.config_digest)
        if record.capabilities:
            row["capabilities_digest"] = self._keep_capabilities(record.capabilities)
        first = Transition(record.state, record.created_at, "submitted", record.attempt)
        self.insert(row, record.transitions or (first,))
        if row["run_name"] != record.run_name:
            self.changed.append(row)  # its run.json has the name that was wanted
        return record.run_id, True

    def insert(self, row: RunRow, transitions: Iterable[Transition]) -> None:
        """With another name where its own is taken."""
        row["run_name"] = unique_name(self.connection, str(row["run_name"]))
        row["revision"] = self._next_revision()
        values = tuple(row[name] for name in _NAMES)
        self.connection.execute(_INSERT_RUN, (*values, row_checksum(values)))
        for n, transition in enumerate(transitions):
            self.connection.execute(
                _INSERT_TRANSITION, transition_row(str(row["run_id"]), n, transition)
            )

    def update(
        self,
        run_id: str,
        expected_state: RunState,
        expected_attempt: int,
        transition: Transition | None,
        changes: Mapping[str, Any],
    ) -> int:
        """Compare and swap on (state, attempt): whoever acts on old knowledge is refused."""
        row = self.row(run_id)
        if (row["state"], row["attempt"]) != (expected_state.value, expected_attempt):
            raise RunStateError(
                f"Run {run_id} is in {row['state']} (attempt {row['attempt']}), "
                f"not in {expected_state} (attempt {expected_attempt})",
                hint="something else changed the run meanwhile; look at it again",
                state=row["state"],
                attempt=row["attempt"],
            )
        changed = self._encoded(changes)
        if transition is not None:
            self._check_legal(run_id, expected_state, transition, changed)
            changed.update(columns_of({"state": transition.state, "attempt": transition.attempt}))
        elif expected_state is RunState.TERM and OUTCOME_FIELDS & changed.keys():
            raise RunStateError(f"Run {run_id} is over; its outcome is final")
        self.write(row, changed, transition.at if transition else time.time())
        if transition is not None:
            self.add_transition(run_id, transition)
            if transition.state is RunState.TERM:
                self.changed.append(row)
        return self.revision

    def update_progress(self, records: Iterable[RunRecord]) -> None:
        """Values worth keeping but not worth a transition; runs deleted meanwhile are left out."""
        for record in records:
            try:
                row = self.row(record.run_id)
            except UnknownRunError:
                continue
            fields = {name: getattr(record, name) for name in PROGRESS_FIELDS}
            if record.capabilities:
                fields["capabilities"] = record.capabilities
            self.write(row, self._encoded(fields), time.time())

    def put_back(self, entry: RunEntry) -> None:
        """A run that was kept elsewhere, as it was; only its revision is new."""
        row = dict(entry.row)
        taken = self.connection.execute(
            "SELECT run_id = ?, client_key = ? FROM runs WHERE run_id = ? OR client_key = ?",
            (row["run_id"], row["client_key"], row["run_id"], row["client_key"]),
        ).fetchall()
        if any(is_same_run for is_same_run, _ in taken):
            raise RunStateError(f"There is a run {row['run_id']} already")
        if taken:
            row["client_key"] = None  # the key has been used for another run since
        if entry.capabilities:
            row["capabilities_digest"] = self._keep_capabilities(entry.capabilities)
        self.insert(row, entry.transitions)

    def pin(self, run_id: str, pinned: bool) -> RunRow:
        row = self.row(run_id)
        return self._mark(row, {"pinned": int(pinned)})

    def label(self, run_id: str, change: LabelChange) -> RunRow:
        row = self.row(run_id)
        fields: dict[str, Any] = {}
        if change.name is not None:
            fields["run_name"] = unique_name(self.connection, change.name, run_id)
        if change.add_tags or change.remove_tags:
            known = str(row["tags"])
            fields["tags"] = change.tags_of(known.split("\n") if known else ())
        if change.note is not None:
            fields["note"] = change.note
        return self._mark(row, columns_of(fields))

    def _mark(self, row: RunRow, changed: Mapping[str, SqlValue]) -> RunRow:
        """Possible in every state; no event in the run's life, so it does not date it."""
        self.write(row, changed, float(str(row["updated_at"])))
        if row["state"] == RunState.TERM:
            self.changed.append(row)
        return row

    def delete(self, run_id: str) -> None:
        row = self.row(run_id)
        if row["state"] != RunState.TERM:
            raise RunStateError(
                f"Run {run_id} is not over yet (state {row['state']})",
                hint="stop it first",
            )
        self.connection.execute("DELETE FROM runs WHERE run_id = ?", (run_id,))
        self._next_revision()

    def take_slot(self) -> int:
        self.next_slot += 1
        return self.next_slot - 1

    def keep_exit_proof(self, run_id: str, attempt: int, commitment: str) -> None:
        values = (run_id, attempt, commitment)
        self.connection.execute(
            "INSERT OR REPLACE INTO exit_proofs VALUES (?, ?, ?, ?)",
            (*values, row_checksum(values)),
        )

    def row(self, run_id: str) -> RunRow:
        values = self.connection.execute(_SELECT_RUN, (run_id,)).fetchone()
        if values is None:
            raise UnknownRunError(
                f"There is no run {run_id}", hint="`mosaic runs` lists all runs", run_id=run_id
            )
        return dict(zip(_NAMES, values, strict=True))

    def write(self, row: RunRow, changed: Mapping[str, SqlValue], at: float) -> None:
        """Change the row in place, here and in the table."""
        row.update(changed)
        row["updated_at"] = storable("updated_at", at)
        row["revision"] = self._next_revision()
        values = [row[name] for name in _MUTABLE]
        checksum = row_checksum(row.values())
        self.connection.execute(_UPDATE_RUN, (*values, checksum, row["run_id"]))
        if "run_name" in changed:
            name = (row["run_name"], row["run_id"])
            self.connection.execute("UPDATE runs SET run_name = ? WHERE run_id = ?", name)

    def add_transition(self, run_id: str, transition: Transition) -> None:
        (n,) = self.connection.execute(
            "SELECT coalesce(max(n) + 1, 0) FROM transitions WHERE run_id = ?", (run_id,)
        ).fetchone()
        self.connection.execute(_INSERT_TRANSITION, transition_row(run_id, n, transition))

    def save_counters(self) -> None:
        """Once per transaction; also what makes a transaction of deletions move the revision."""
        values = (1, self.next_slot, self.revision)
        self.connection.execute(
            "INSERT OR REPLACE INTO meta VALUES (?, ?, ?, ?)", (*values, row_checksum(values))
        )

    def _encoded(self, changes: Mapping[str, Any]) -> RunRow:
        fields = dict(changes)
        capabilities = fields.pop("capabilities", None)
        row = columns_of(fields)
        if capabilities is not None:
            row["capabilities_digest"] = self._keep_capabilities(capabilities)
        return row

    def _keep_capabilities(self, capabilities: Mapping[str, Any]) -> str:
        digest, text = capabilities_document(capabilities)
        self.connection.execute("INSERT OR IGNORE INTO capabilities VALUES (?, ?)", (digest, text))
        return digest

    def _check_legal(
        self, run_id: str, state: RunState, transition: Transition, changed: RunRow
    ) -> None:
        if transition.state not in LEGAL_TRANSITIONS[state]:
            raise RunStateError(
                f"Run {run_id} cannot go from {state} to {transition.state}",
                hint="the run is over" if state is RunState.TERM else "",
            )
        if transition.state is RunState.TERM and not changed.get("outcome"):
            raise RunStateError(f"Run {run_id} cannot end without an outcome")

    def _next_revision(self) -> int:
        self.revision += 1
        return self.revision


def unique_name(connection: sqlite3.Connection, wanted: str, run_id: str = "") -> str:
    """A name that no other run has, see contracts/run_labels.py; `run_id` may keep its own."""
    numbered = f"{wanted}{MARK}"
    taken = connection.execute(
        "SELECT run_name FROM runs"
        " WHERE (run_name = ? OR (run_name >= ? AND run_name < ?)) AND run_id != ?",
        (wanted, numbered, f"{wanted}{chr(ord(MARK) + 1)}", run_id),
    ).fetchall()
    return free_name(wanted, (name for (name,) in taken))
