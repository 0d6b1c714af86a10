"""Opens a run's store read-only and makes the contracts' objects of its rows."""

from __future__ import annotations

import bisect
import contextlib
import functools
import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from mosaic.contracts.events import (
    EpisodeSummary,
    EventType,
    MetricPoint,
    RunLifecycleEvent,
    TrainingStep,
)
from mosaic.contracts.metrics import EPISODE_CURVES
from mosaic.errors import CorruptStoreError
from mosaic.foreign.sqlite import connect_to_read, stored_bytes
from mosaic.sqlite_migrations import version_of
from mosaic.telemetry.store.episode_placing import PLACES, place_stored
from mosaic.telemetry.store.pyramid import LOGGED, episode_points
from mosaic.telemetry.store.schema import (
    MIGRATIONS,
    PLACES_VERSION,
    PYRAMID_VERSION,
    require_own_schema,
)
from mosaic.telemetry.store.store import sqlite_errors

_TIMEOUT_S = 5.0
_ROWS_AT_ONCE = 4096
_LEAST_ROW_BYTES = 4  # its place in the page, its length and its key
# What SQLite says when it cannot write to the disk.
_NO_ROOM = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN)


class StoreReader:
    """All answers are of the same moment, whatever is written meanwhile."""

    def __init__(self, connection: sqlite3.Connection, version: int, path: Path) -> None:
        self._connection = connection
        self._path = path
        self.version = version
        self.run_id: str = self.rows("SELECT run_id FROM ingest_state")[0][0]

    @property
    def is_current(self) -> bool:
        """Of an older version, it is slower to read than it could be."""
        return self.version >= len(MIGRATIONS)

    def points(self, name: str) -> str:
        """What to select the points of a curve from: the columns of `metrics`, of that name too."""
        if name in self.episode_curves:
            return episode_points(name, "episodes" if self._has_places else PLACES)
        if self._has_places:
            return LOGGED
        return f"(SELECT *, 1 AS count, NULL AS low, NULL AS high FROM {LOGGED})"

    def has_pyramid(self, name: str) -> bool:
        return self._has_places or (
            self.version >= PYRAMID_VERSION and name not in self.episode_curves
        )

    @functools.cached_property
    def episode_curves(self) -> frozenset[str]:
        """Those of the names in EPISODE_CURVES that have points."""
        if self._has_places:
            found = self.rows("SELECT name FROM metric_summaries WHERE of_episodes")
            return frozenset(row["name"] for row in found)
        place_stored(self._connection)
        kinds = {row["kind"] for row in self.rows(f"SELECT DISTINCT kind FROM {PLACES}")}
        return frozenset(name for name, curve in EPISODE_CURVES.items() if curve.kind in kinds)

    @property
    def _has_places(self) -> bool:
        return self.version >= PLACES_VERSION

    def rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """Values by position, or one mapping of them by name."""
        found = self.each_row(statement, *values)
        rows = found.fetchmany(_ROWS_AT_ONCE)
        is_all = len(rows) < _ROWS_AT_ONCE
        while not is_all and (more := found.fetchmany(_ROWS_AT_ONCE)):
            rows += more
            if len(rows) > self._most_rows:
                raise CorruptStoreError(
                    f"The store {self._path} is unreadable: it has more rows than it can hold",
                    path=str(self._path),
                )
        return rows

    def each_row(self, statement: str, *values: Any) -> sqlite3.Cursor:
        """One after the other, for rows of which a few may be huge."""
        is_named = len(values) == 1 and isinstance(values[0], dict)
        return self._connection.execute(statement, values[0] if is_named else values)

    @functools.cached_property
    def _most_rows(self) -> int:
        """Pages that lead to each other without end would give rows without end."""
        return stored_bytes(self._path) // _LEAST_ROW_BYTES

    def step(self, row: sqlite3.Row) -> TrainingStep:
        return TrainingStep(
            **self._common(row),
            step_index=row["step_index"],
            action=_value(row["action"]),
            observation=_value(row["observation"]),
            reward=_number(row["reward"]),
            render_hint=_value(row["render_hint"]),
            info=_value(row["info"]),
        )

    def episode(self, row: sqlite3.Row) -> EpisodeSummary:
        return EpisodeSummary(
            **self._common(row),
            total_reward=_number(row["total_reward"]),
            steps=row["steps"],
            metadata=_value(row["metadata"]),
        )

    def metric(self, row: sqlite3.Row) -> MetricPoint:
        return MetricPoint(
            run_id=self.run_id,
            seq=row["seq"],
            timestamp=row["timestamp"],
            name=row["name"],
            value=_number(row["value"]),
            step=row["step"],
        )

    def lifecycle(self, row: sqlite3.Row) -> RunLifecycleEvent:
        return RunLifecycleEvent(
            run_id=self.run_id,
            seq=row["seq"],
            timestamp=row["timestamp"],
            type=EventType(row["type"]),
            payload=msgspec.json.decode(row["payload"]),
        )

    @functools.cached_property
    def _registrations(self) -> list[tuple[int, str, str]]:
        rows = self.rows("SELECT cursor, agent_id, worker_id FROM registrations ORDER BY cursor")
        return [tuple(row) for row in rows]

    def ids(self, row: sqlite3.Row) -> tuple[str, str]:
        """Of agent and worker: lines inherit what they leave out from the registration before."""
        place = bisect.bisect(self._registrations, (row["cursor"] + 1,)) - 1
        _, agent_id, worker_id = self._registrations[place] if place >= 0 else (0, "", "")
        return row["agent_id"] or agent_id, row["worker_id"] or worker_id

    def _common(self, row: sqlite3.Row) -> dict[str, Any]:
        seed = row["episode_seed"]
        agent_id, worker_id = self.ids(row)
        return {
            "run_id": self.run_id,
            "agent_id": agent_id,
            "worker_id": worker_id,
            "seq": row["seq"],
            "timestamp": row["timestamp"],
            "episode_index": row["episode_index"],
            "terminated": bool(row["terminated"]),
            "truncated": bool(row["truncated"]),
            "episode_seed": None if seed == "" else int(seed),
        }


@contextlib.contextmanager
def reading(path: Path) -> Iterator[StoreReader | None]:
    """The store for the time of a `with`, or None while there is none."""
    with sqlite_errors(path):
        try:
            connection, version = _begin(path)
        except FileNotFoundError:
            yield None
            return
        try:
            if not version:  # its writer has only just created the file
                yield None
                return
            require_own_schema(connection, version, path)
            connection.row_factory = sqlite3.Row
            yield StoreReader(connection, version, path)
        finally:
            connection.close()


def _begin(path: Path) -> tuple[sqlite3.Connection, int]:
    """A connection that sees one moment of the store, and the store's version."""
    try:
        return _connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        # A reader needs a few blocks for its -shm file too. Without room for them the store can
        # still be read as the plain file it is; the newest rows appear when there is room again.
        if error.sqlite_errorcode & 0xFF not in _NO_ROOM:
            raise
        return _connect(path, "mode=ro&immutable=1")


def _connect(path: Path, how: str) -> tuple[sqlite3.Connection, int]:
    connection = connect_to_read(path, how, timeout_s=_TIMEOUT_S)
    try:
        connection.execute("PRAGMA automatic_index = OFF")
        connection.execute("BEGIN")
        version = version_of(connection)
    except BaseException:
        connection.close()
        raise
    return connection, version


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _value(text: str) -> Any:
    """Any JSON value; as text where it holds what Python cannot, such as 1e999."""
    if not text:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return text
