"""A run's `telemetry.sqlite`: rows and the journal offset they reach, in one transaction.

The journal is the truth and this file can be made again from it, so `synchronous=NORMAL` is
enough: after a power cut the offset rolls back together with the rows.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sqlite3
import stat
from collections.abc import Iterator
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from mosaic.errors import CorruptStoreError, StoreError
from mosaic.foreign_sqlite import UNREADABLE, distrust
from mosaic.telemetry.event_rows import Batch
from mosaic.telemetry.ingest_state import RETURNS_KEPT, IngestState
from mosaic.telemetry.pyramid import fill_buckets, remove_points
from mosaic.telemetry.store_schema import COLUMNS, MIGRATIONS, ON_CONFLICT, require_own_schema

# Rows per INSERT. The sqlite3 module gives up the GIL for every statement, and beside a busy
# thread each return costs a switch interval: 512 rows at once are 10 to 20 times faster there.
ROWS_PER_STATEMENT = (512, 64, 8, 1)
WAL_BYTES = 3 * 1024 * 1024
CACHE_KIB = 512
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_STATE_COLUMNS = tuple(field.name for field in fields(IngestState))


class TelemetryStore:
    """The one writer of a run's store. Not for several threads at once."""

    def __init__(self, path: Path, run_id: str) -> None:
        """Open or create; raises CorruptStoreError when what is there cannot be used."""
        self.path = path
        with sqlite_errors(path):
            self._connection = _connect(path)
            try:
                self._migrate(run_id)
                self.state = read_state(self._connection)
                self.returns = self._read_returns()
            except BaseException:
                self._connection.close()
                raise
        if self.state.run_id != run_id:
            self.close()
            raise CorruptStoreError(f"{path} belongs to run {self.state.run_id[:64]!r}")

    def write(self, batch: Batch) -> None:
        """All of the batch or nothing. After an error, close this and open the store again."""
        with sqlite_errors(self.path), self._transaction():
            offset = self._connection.execute("SELECT offset FROM ingest_state").fetchone()
            if offset != (self.state.offset,):
                raise StoreError(
                    f"{self.path} was changed by somebody else",
                    hint="let only one daemon use this home",
                )
            for table, values in batch.rows.items():
                self._insert(table, values)
            for rewind in batch.rewinds:
                # What an earlier attempt reported beyond its checkpoint is lived through again;
                # a curve must not hold both. The journal keeps it.
                remove_points(self._connection, *rewind)
            if batch.rewinds or batch.rows["metrics"]:
                fill_buckets(self._connection)
            self._write_state(batch.state)
        self.state = batch.state
        self.returns = batch.returns

    def close(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def read_attempt(self) -> list[tuple[int, float, str, str]]:
        """(seq, timestamp, type, payload) of the present attempt's lifecycle events."""
        with sqlite_errors(self.path):
            return self._connection.execute(
                "SELECT seq, timestamp, type, payload FROM lifecycle WHERE cursor >= ?"
                " ORDER BY cursor",
                (self.state.attempt_cursor,),
            ).fetchall()

    def _migrate(self, run_id: str) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        require_own_schema(self._connection, version, self.path)
        for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
            with self._transaction():
                for statement in statements:
                    self._connection.execute(statement)
                if number == 1:
                    self._write_state(IngestState(run_id))
                self._connection.execute(f"PRAGMA user_version = {number}")

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

    def _insert(self, table: str, values: list[Any]) -> None:
        width = len(COLUMNS[table])
        position = 0
        for rows in ROWS_PER_STATEMENT:
            size = rows * width
            while len(values) - position >= size:
                block = values[position : position + size]
                self._connection.execute(_insert_statement(table, rows), block)
                position += size

    def _write_state(self, state: IngestState) -> None:
        marks = ", ".join("?" * len(_STATE_COLUMNS))
        self._connection.execute(
            f"REPLACE INTO ingest_state ({', '.join(_STATE_COLUMNS)}) VALUES ({marks})",
            astuple(state),
        )

    def _read_returns(self) -> list[float]:
        rows = self._connection.execute(
            "SELECT total_reward FROM episodes WHERE cursor >= ? ORDER BY cursor DESC LIMIT ?",
            (self.state.attempt_cursor, RETURNS_KEPT),
        )
        return [float("nan") if value is None else value for (value,) in rows][::-1]


@functools.cache
def _insert_statement(table: str, rows: int) -> str:
    columns = COLUMNS[table]
    row = f"({', '.join('?' * len(columns))})"
    rows_text = ", ".join([row] * rows)
    conflict = ON_CONFLICT.get(table, "")
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {rows_text}{conflict}"


def _connect(path: Path) -> sqlite3.Connection:
    # Created here, because SQLite would ask the umask; its -wal and -shm copy the mode.
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    is_file = stat.S_ISREG(os.fstat(fd).st_mode)
    os.close(fd)
    if not is_file:  # a pipe, on which SQLite would fail in a way that looks like a full disk
        raise CorruptStoreError(f"{path} is not a regular file", path=str(path))
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    try:
        distrust(connection)
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_BYTES // page_size}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    except BaseException:
        connection.close()
        raise
    return connection


def read_state(connection: sqlite3.Connection) -> IngestState:
    row = connection.execute(f"SELECT {', '.join(_STATE_COLUMNS)} FROM ingest_state").fetchone()
    if row is None:
        raise CorruptStoreError("the store has lost its state")
    state = IngestState(*row)
    state.has_samples = bool(state.has_samples)
    return state


@contextlib.contextmanager
def sqlite_errors(path: Path) -> Iterator[None]:
    """SQLite's errors as ours: unreadable, no room, or whatever else it says."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The store {path} cannot be opened: {error.strerror}",
            hint="check the disk and the file's permissions",
            path=str(path),
            errno=error.errno,
        ) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        details = {"path": str(path), "sqlite": getattr(error, "sqlite_errorname", "")}
        # A row that exists already, or a table that is missing, means the file is not ours.
        is_foreign = isinstance(error, sqlite3.IntegrityError) or code == sqlite3.SQLITE_ERROR
        if code in UNREADABLE or is_foreign:
            raise CorruptStoreError(
                f"The store {path} is unreadable: {error}", **details
            ) from error
        hint = "free some space on the disk" if code in _NO_ROOM else "it is tried again later"
        raise StoreError(
            f"The store {path} cannot be used: {error}",
            hint=f"{hint}; nothing is lost, the journal has it all",
            **details,
        ) from error


def is_out_of_room(error: StoreError) -> bool:
    return error.details.get("sqlite") in ("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE")


def set_aside(path: Path) -> Path:
    """Rename an unusable store out of the way, so that a new one can be made from the journal."""
    number = 1
    while (target := path.with_name(f"{path.stem}.corrupt-{number}{path.suffix}")).exists():
        number += 1
    # The write-ahead log first: left behind it would be replayed into the new store.
    for ending in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(target.with_name(target.name + ending))
    return target
