"""Reads the registry through its own connection, so that a long list never waits for a commit."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.run_record import RunRecord, Transition
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.daemon.registry.documents import RunEntry
from mosaic.daemon.registry.rows import (
    EXIT_PROOF_COLUMNS,
    LIST_COLUMNS,
    RUN_COLUMNS,
    TRANSITION_COLUMNS,
    RunRow,
    capabilities_document,
    record_of,
    row_checksum,
    row_problem,
    transition_of,
)
from mosaic.daemon.registry.schema import connect_read_only
from mosaic.errors import CorruptStoreError, UnknownRunError

# Above this the memory of finished runs (about 1.5 kB each) is given back.
MAX_REMEMBERED = 20_000
_SELECT_SOME = f"SELECT {LIST_COLUMNS} FROM runs WHERE run_id IN (SELECT value FROM json_each(?))"
_NEWEST_FIRST = "ORDER BY created_at DESC, run_id DESC"


@dataclass(frozen=True)
class RunFilter:
    """Which runs to list; an empty field means "any"."""

    states: tuple[RunState, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    # Part of the name, a tag, the note, the worker or the environment, in any case.
    contains: str = ""
    limit: int | None = None
    run_ids: tuple[str, ...] = ()
    # Only runs that changed after this revision.
    after_revision: int = 0


class RegistryReader:
    """Used by one thread."""

    def __init__(self, path: Path, on_unusable: Callable[[str, str], None]) -> None:
        """`on_unusable` hears of each run that is left out of an answer, and why."""
        self._on_unusable = on_unusable
        self._connection = connect_read_only(path)
        self._records: dict[str, RunRecord] = {}
        self._connection.create_function("holds", 6, _holds, deterministic=True)

    def select(self, wanted: RunFilter) -> tuple[list[RunRecord], int]:
        """Records without their details, newest first, and how many there are without the limit."""
        where, values = _condition(wanted)
        limit = f"LIMIT {int(wanted.limit)}" if wanted.limit else ""
        query = f"FROM runs {where} {_NEWEST_FIRST} {limit}"
        with self._snapshot():
            chosen = self._connection.execute(f"SELECT run_id, revision {query}", values).fetchall()
            changed = self._changed(chosen)
            if len(changed) > len(chosen) // 2:
                rows = self._connection.execute(f"SELECT {LIST_COLUMNS} {query}", values)
            else:
                rows = self._connection.execute(_SELECT_SOME, (json.dumps(changed),))
            self._remember(rows)
            total = len(chosen)
            if limit:
                count = f"SELECT count(*) FROM runs {where}"
                (total,) = self._connection.execute(count, values).fetchone()
        known = self._records
        return [known[run_id] for run_id, _ in chosen if run_id in known], total

    def _remember(self, rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            try:
                self._records[row[0]] = record_of(row)
            except (KeyError, ValueError, TypeError) as error:
                # Changed since the start, which checks every row. One bad row must not hide all
                # others; the next start sets it aside.
                self._records.pop(row[0], None)
                self._on_unusable(row[0], f"{type(error).__name__}: {error}")

    def _changed(self, chosen: list[tuple[str, int]]) -> list[str]:
        """Runs to be read, because they changed since they were last listed.

        Most runs are over and never change; reading 10,000 whole rows takes ten times as long as
        reading their revisions.
        """
        known = self._records
        if len(known) > MAX_REMEMBERED:
            known.clear()
        return [
            run_id
            for run_id, revision in chosen
            if run_id not in known or known[run_id].revision != revision
        ]

    @contextlib.contextmanager
    def _snapshot(self) -> Iterator[None]:
        """All queries inside see the same state."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def get(self, run_id: str) -> RunRecord:
        """The whole record; raises rather than show a damaged one."""
        return self.entry(run_id).record()

    def entry(self, run_id: str) -> RunEntry:
        """All there is about a run; raises like `get`."""
        with self._snapshot():
            values = self._connection.execute(
                f"SELECT {', '.join(RUN_COLUMNS)}, checksum FROM runs WHERE run_id = ?", (run_id,)
            ).fetchone()
            if values is None:
                raise UnknownRunError(
                    f"There is no run {run_id}", hint="`mosaic runs` lists all runs", run_id=run_id
                )
            _check(values, run_id)
            row: RunRow = dict(zip(RUN_COLUMNS, values, strict=False))
            if problem := row_problem(row):
                raise _unusable(f"run {run_id}", problem)
            return RunEntry(
                row,
                self._transitions(run_id),
                self._capabilities(str(row["capabilities_digest"])),
            )

    def unfinished(self) -> list[RunRecord]:
        """Whole records of all runs that are not over, oldest first."""
        rows = self._connection.execute(
            "SELECT run_id FROM runs WHERE state != ? ORDER BY created_at, run_id",
            (RunState.TERM.value,),
        ).fetchall()
        records = []
        for (run_id,) in rows:
            try:
                records.append(self.get(run_id))
            except CorruptStoreError as error:
                self._on_unusable(run_id, error.message)
        return records

    def exit_proof(self, run_id: str, attempt: int) -> str:
        row = self._connection.execute(
            f"SELECT {', '.join(EXIT_PROOF_COLUMNS)}, checksum FROM exit_proofs"
            " WHERE run_id = ? AND attempt = ?",
            (run_id, attempt),
        ).fetchone()
        if row is None:
            return ""
        _check(row, run_id)
        return str(row[2])

    def find_client_key(self, key: str) -> str | None:
        row = self._connection.execute(
            "SELECT run_id FROM runs WHERE client_key = ?", (key,)
        ).fetchone()
        return None if row is None else str(row[0])

    def close(self) -> None:
        self._connection.close()

    def _transitions(self, run_id: str) -> tuple[Transition, ...]:
        rows = self._connection.execute(
            f"SELECT {', '.join(TRANSITION_COLUMNS)}, checksum FROM transitions"
            " WHERE run_id = ? ORDER BY n",
            (run_id,),
        ).fetchall()
        for row in rows:
            _check(row, run_id)
            named = dict(zip(TRANSITION_COLUMNS, row, strict=False))
            if problem := row_problem(named, TRANSITION_COLUMNS):
                raise _unusable(f"run {run_id}", f"its history: {problem}")
        return tuple(transition_of(row[2:6]) for row in rows)

    def _capabilities(self, digest: str) -> dict[str, Any]:
        row = self._connection.execute(
            "SELECT document FROM capabilities WHERE digest = ?", (digest,)
        ).fetchone()
        if row is None:
            return {}
        try:
            capabilities: dict[str, Any] = json.loads(row[0])
            is_whole = capabilities_document(capabilities)[0] == digest
        except (ValueError, RecursionError):
            is_whole = False
        if not is_whole:
            raise _damaged("the capabilities of a worker")
        return capabilities


def _condition(wanted: RunFilter) -> tuple[str, list[Any]]:
    clauses: list[str] = []
    values: list[Any] = []
    for column, choices in (
        ("state", wanted.states),
        ("outcome", wanted.outcomes),
        ("run_id", wanted.run_ids),
    ):
        if choices:
            # One JSON value instead of as many variables, whose number SQLite limits.
            clauses.append(f"{column} IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(choices))
    if wanted.contains:
        clauses.append("holds(?, run_name, worker, env_id, tags, note)")
        values.append(wanted.contains.casefold())
    if wanted.after_revision:
        clauses.append("revision > ?")
        values.append(wanted.after_revision)
    return (f"WHERE {' AND '.join(clauses)}" if clauses else ""), values


def _holds(needle: str, *texts: str) -> bool:
    return any(needle in text.casefold() for text in texts)


def _check(row: Sequence[Any], run_id: str) -> None:
    if row_checksum(row[:-1]) != row[-1]:
        raise _damaged(f"run {run_id}")


def _unusable(what: str, problem: str) -> CorruptStoreError:
    return CorruptStoreError(
        f"The registry's entry of {what} cannot be used: {problem}",
        hint="restart the daemon; it sets the entry aside and serves everything else",
    )


def _damaged(what: str) -> CorruptStoreError:
    return CorruptStoreError(
        f"The registry's entry of {what} does not match its checksum",
        hint="restart the daemon; it restores the registry from its backup and the runs' files",
    )
