"""A run's `telemetry.sqlite`: rows and the journal offset they reach, in one transaction.

The journal is the truth and this file can be made again from it, so `synchronous=NORMAL` is
enough: after a power cut the offset rolls back together with the rows.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import sqlite3
import stat
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from mosaic.contracts.metrics import (
    EPISODE_CURVES,
    EPISODES_IN_MEAN,
    EPISODIC_RETURN,
    LOGGED_GROUP,
    EpisodeKind,
)
from mosaic.errors import CorruptStoreError, StoreError
from mosaic.foreign.sqlite import UNREADABLE, harden
from mosaic.sqlite_migrations import Afterwards, migrate, transaction, version_of
from mosaic.telemetry.store.episode_placing import PLACES, place_stored
from mosaic.telemetry.store.ingest_state import IngestState
from mosaic.telemetry.store.pyramid import (
    fill_buckets,
    remove_episodes,
    remove_points,
    rename_metric,
    sum_up_episodes,
)
from mosaic.telemetry.store.rows import Batch
from mosaic.telemetry.store.schema import (
    COLUMNS,
    MIGRATIONS,
    ON_CONFLICT,
    PLACES_VERSION,
    TABLES,
    require_own_schema,
)

# Rows per INSERT. The sqlite3 module gives up the GIL for every statement, and beside a busy
# thread each return costs a switch interval: 512 rows at once are 10 to 20 times faster there.
ROWS_PER_STATEMENT = (512, 64, 8, 1)
WAL_BYTES = 3 * 1024 * 1024
CACHE_KIB = 512
_NO_ROOM = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR}
_STATE_COLUMNS = tuple(field.name for field in fields(IngestState))
_STATE_FLAGS = tuple(field.name for field in fields(IngestState) if field.default is False)


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
        with sqlite_errors(self.path), transaction(self._connection):
            offset = self._connection.execute("SELECT offset FROM ingest_state").fetchone()
            if offset != (self.state.offset,):
                raise StoreError(
                    f"{self.path} was changed by somebody else",
                    hint="let only one daemon use this home",
                )
            for name in batch.taken_names:
                rename_metric(self._connection, name, LOGGED_GROUP + name)
            for table, values in batch.rows.items():
                self._insert(table, values)
            for cursor, step in batch.rewinds:
                # What an earlier attempt reported beyond its checkpoint happens again;
                # a curve must not hold both. The journal keeps it.
                if step is None:
                    remove_episodes(self._connection, cursor)
                else:
                    remove_points(self._connection, cursor, step)
            if batch.rewinds or batch.rows["metric_summaries"]:
                fill_buckets(self._connection)
            if batch.rewinds:
                batch.state.finished_episodes = self._count_finished()
                batch.returns = self._read_returns()
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
        require_own_schema(self._connection, version_of(self._connection), self.path)
        afterwards: dict[int, Afterwards] = {
            1: lambda _: self._write_state(IngestState(run_id), self._state_columns()),
            PLACES_VERSION: lambda _: self._place_episodes(),
        }
        migrate(self._connection, MIGRATIONS, afterwards)

    def _insert(self, table: str, values: list[Any]) -> None:
        width = len(COLUMNS[table])
        position = 0
        for rows in ROWS_PER_STATEMENT:
            size = rows * width
            while len(values) - position >= size:
                block = values[position : position + size]
                self._connection.execute(_insert_statement(table, rows), block)
                position += size

    def _write_state(self, state: IngestState, columns: Sequence[str] = _STATE_COLUMNS) -> None:
        marks = ", ".join("?" * len(columns))
        self._connection.execute(
            f"REPLACE INTO ingest_state ({', '.join(columns)}) VALUES ({marks})",
            [getattr(state, column) for column in columns],
        )

    def _state_columns(self) -> list[str]:
        """Of a store whose version has fewer than the newest."""
        rows = self._connection.execute("SELECT name FROM pragma_table_info('ingest_state')")
        return [name for (name,) in rows]

    def _place_episodes(self) -> None:
        """For a store of a version that did not know yet where its episodes belong."""
        run = place_stored(self._connection)
        self._connection.execute(
            "UPDATE episodes SET (kind, at_step, count) ="
            f" (SELECT kind, at_step, count FROM {PLACES} AS place"
            " WHERE place.cursor = episodes.cursor)"
        )
        self._connection.execute(f"DROP TABLE {PLACES}")
        state = read_state(self._connection)
        state.last_episode_step, state.may_begin_anew = run.step, run.may_begin_anew
        kinds = self._connection.execute("SELECT DISTINCT kind FROM episodes WHERE kind").fetchall()
        for (kind,) in kinds:
            state.begin_curves(EpisodeKind(kind))
        names = [name for name, curve in EPISODE_CURVES.items() if (curve.kind,) in kinds]
        for name in names:
            rename_metric(self._connection, name, LOGGED_GROUP + name)
        sum_up_episodes(self._connection, names)
        fill_buckets(self._connection)
        state.finished_episodes = self._count_finished()
        self._write_state(state)

    def _count_finished(self) -> int:
        found = self._connection.execute(
            "SELECT counted FROM metric_summaries WHERE name = ? AND of_episodes",
            (EPISODIC_RETURN,),
        ).fetchone()
        return int(found[0]) if found else 0

    def _read_returns(self) -> list[float]:
        """Of the last training episodes that count, oldest first."""
        rows = self._connection.execute(
            "SELECT total_reward, count FROM episodes"
            f" WHERE kind = {EpisodeKind.TRAINING:d} ORDER BY cursor DESC LIMIT ?",
            (EPISODES_IN_MEAN,),
        )
        newest_first = [
            math.nan if value is None else value
            for value, count in rows
            for _ in range(min(count, EPISODES_IN_MEAN))
        ]
        return newest_first[:EPISODES_IN_MEAN][::-1]


@functools.cache
def _insert_statement(table: str, rows: int) -> str:
    columns = COLUMNS[table]
    row = f"({', '.join('?' * len(columns))})"
    rows_text = ", ".join([row] * rows)
    conflict = ON_CONFLICT.get(table, "")
    return f"INSERT INTO {TABLES[table]} ({', '.join(columns)}) VALUES {rows_text}{conflict}"


def _connect(path: Path) -> sqlite3.Connection:
    # Created here, because SQLite would ask the umask; its -wal and -shm copy the mode.
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    is_file = stat.S_ISREG(os.fstat(fd).st_mode)
    os.close(fd)
    if not is_file:  # a pipe, on which SQLite would fail in a way that looks like a full disk
        raise CorruptStoreError(f"{path} is not a regular file", path=str(path))
    connection = sqlite3.connect(path, timeout=5, isolation_level=None, check_same_thread=False)
    try:
        harden(connection)
        (page_size,) = connection.execute("PRAGMA page_size").fetchone()
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {WAL_BYTES // page_size}")
        connection.execute(f"PRAGMA journal_size_limit = {WAL_BYTES}")
        connection.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        # For a few hundred new episodes SQLite would index all there are.
        connection.execute("PRAGMA automatic_index = OFF")
    except BaseException:
        connection.close()
        raise
    return connection


def read_state(connection: sqlite3.Connection) -> IngestState:
    row = connection.execute(f"SELECT {', '.join(_STATE_COLUMNS)} FROM ingest_state").fetchone()
    if row is None:
        raise CorruptStoreError("the store has lost its state")
    state = IngestState(*row)
    for name in _STATE_FLAGS:
        setattr(state, name, bool(getattr(state, name)))
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
