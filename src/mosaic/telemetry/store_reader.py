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
from urllib.parse import quote

import msgspec

from mosaic.contracts.events import (
    EpisodeSummary,
    EventType,
    MetricPoint,
    RunLifecycleEvent,
    TrainingStep,
)
from mosaic.errors import CorruptStoreError
from mosaic.telemetry.store import sqlite_errors
from mosaic.telemetry.store_schema import PYRAMID_VERSION, schema_problem

# What SQLite says when it cannot write to the disk.
_NO_ROOM = (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN)


class StoreReader:
    """All answers are of the same moment, whatever is written meanwhile."""

    def __init__(self, connection: sqlite3.Connection, version: int) -> None:
        self._connection = connection
        self.version = version
        self.run_id: str = self.rows("SELECT run_id FROM ingest_state")[0][0]

    @property
    def has_pyramid(self) -> bool:
        return self.version >= PYRAMID_VERSION

    def rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        """Values by position, or one mapping of them by name."""
        return list(self.each_row(statement, *values))

    def each_row(self, statement: str, *values: Any) -> Iterator[sqlite3.Row]:
        """One after the other, for rows of which a few may be huge."""
        is_named = len(values) == 1 and isinstance(values[0], dict)
        return iter(self._connection.execute(statement, values[0] if is_named else values))

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
        if not path.exists():
            yield None
            return
        connection = _connect(path)
        try:
            connection.execute("BEGIN")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version and (problem := schema_problem(connection, version)):
                raise CorruptStoreError(f"The store {path} is unreadable: {problem}")
            # 0: its writer has only just created the file
            yield StoreReader(connection, version) if version else None
        finally:
            connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    try:
        connection = _open(path, "mode=ro")
        connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.OperationalError as error:
        # A reader needs a few blocks for its -shm file too. Without room for them the store can
        # still be read as the plain file it is; the newest rows appear when there is room again.
        if error.sqlite_errorcode & 0xFF not in _NO_ROOM:
            raise
        connection = _open(path, "immutable=1")
    connection.row_factory = sqlite3.Row
    return connection


def _open(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, timeout=5)


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
