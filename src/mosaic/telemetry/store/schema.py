"""Tables of a run's telemetry store, as migrations, and the order of their columns.

Rows are keyed by the cursor of their line, so no line can be stored twice. What a line left out
is an empty text; NULL is a number that was NaN, which SQLite does not have. Steps have no index
besides their key: `episode_spans` says between which cursors the steps of an episode lie.
"""

from __future__ import annotations

import functools
import sqlite3
from contextlib import closing
from pathlib import Path

from mosaic.errors import CorruptStoreError
from mosaic.foreign.sqlite import SchemaRow, schema_of
from mosaic.sqlite_migrations import migrate
from mosaic.telemetry.store import pyramid

COLUMNS: dict[str, tuple[str, ...]] = {
    "steps": (
        *("cursor", "seq", "timestamp", "agent_id", "worker_id", "episode_index", "step_index"),
        *("action", "observation", "reward", "terminated", "truncated"),
        *("episode_seed", "render_hint", "info"),
    ),
    "episodes": (
        *("cursor", "seq", "timestamp", "agent_id", "worker_id", "episode_index"),
        *("total_reward", "steps", "terminated", "truncated", "episode_seed", "metadata"),
        *("kind", "at_step", "count"),
    ),
    "episode_spans": ("episode_index", "attempt", "first_cursor", "last_cursor"),
    "metrics": ("name", "cursor", "seq", "timestamp", "value", "step"),
    "summed_metrics": (
        *("name", "cursor", "seq", "timestamp", "value", "step", "count", "low", "high"),
    ),
    "metric_summaries": (
        *("name", "points", "bucketed", "first_step", "last_step", "counted", "of_episodes"),
    ),
    "lifecycle": ("cursor", "seq", "timestamp", "type", "payload"),
    "registrations": ("cursor", "attempt", "agent_id", "worker_id"),
    "quarantine": ("cursor", "reason", "detail", "sample"),
    "quarantine_counts": ("reason", "lines"),
}

# Kinds of rows that share a table: most metrics are single values, and need fewer columns.
TABLES: dict[str, str] = {**{name: name for name in COLUMNS}, "summed_metrics": "metrics"}

# Rows of these tables grow; rows of all others are written once.
ON_CONFLICT: dict[str, str] = {
    "episode_spans": (
        " ON CONFLICT (episode_index, attempt) DO UPDATE SET last_cursor = excluded.last_cursor"
    ),
    "metric_summaries": (
        " ON CONFLICT (name) DO UPDATE SET points = points + excluded.points,"
        " counted = counted + excluded.counted,"
        " first_step = min(first_step, excluded.first_step),"
        " last_step = max(last_step, excluded.last_step)"
    ),
    "quarantine_counts": " ON CONFLICT (reason) DO UPDATE SET lines = lines + excluded.lines",
}

_INITIAL = (
    # episode_seed has no type: a seed beyond 64 bits is kept as text, every digit of it.
    """
    CREATE TABLE steps (
        cursor INTEGER PRIMARY KEY, seq INTEGER NOT NULL, timestamp REAL NOT NULL,
        agent_id TEXT NOT NULL, worker_id TEXT NOT NULL,
        episode_index INTEGER NOT NULL, step_index INTEGER NOT NULL,
        action TEXT NOT NULL, observation TEXT NOT NULL, reward REAL,
        terminated INTEGER NOT NULL, truncated INTEGER NOT NULL,
        episode_seed NOT NULL, render_hint TEXT NOT NULL, info TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE episodes (
        cursor INTEGER PRIMARY KEY, seq INTEGER NOT NULL, timestamp REAL NOT NULL,
        agent_id TEXT NOT NULL, worker_id TEXT NOT NULL, episode_index INTEGER NOT NULL,
        total_reward REAL, steps INTEGER NOT NULL,
        terminated INTEGER NOT NULL, truncated INTEGER NOT NULL,
        episode_seed NOT NULL, metadata TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE episode_spans (
        episode_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
        first_cursor INTEGER NOT NULL, last_cursor INTEGER NOT NULL,
        PRIMARY KEY (episode_index, attempt)
    ) WITHOUT ROWID
    """,
    # Clustered by name, as curves are read one by one.
    """
    CREATE TABLE metrics (
        name TEXT NOT NULL, cursor INTEGER NOT NULL, seq INTEGER NOT NULL,
        timestamp REAL NOT NULL, value REAL, step INTEGER NOT NULL,
        PRIMARY KEY (name, cursor)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE lifecycle (
        cursor INTEGER PRIMARY KEY, seq INTEGER NOT NULL, timestamp REAL NOT NULL,
        type TEXT NOT NULL, payload TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE registrations (
        cursor INTEGER PRIMARY KEY, attempt INTEGER NOT NULL,
        agent_id TEXT NOT NULL, worker_id TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE quarantine (
        cursor INTEGER PRIMARY KEY, reason TEXT NOT NULL, detail TEXT NOT NULL, sample BLOB NOT NULL
    )
    """,
    "CREATE TABLE quarantine_counts (reason TEXT PRIMARY KEY, lines INTEGER NOT NULL)",
    """
    CREATE TABLE ingest_state (
        run_id TEXT PRIMARY KEY, offset INTEGER NOT NULL,
        events INTEGER NOT NULL, steps INTEGER NOT NULL, episodes INTEGER NOT NULL,
        metrics INTEGER NOT NULL, quarantined INTEGER NOT NULL,
        last_seq INTEGER NOT NULL, missing INTEGER NOT NULL, repeated INTEGER NOT NULL,
        attempt INTEGER NOT NULL, attempt_cursor INTEGER NOT NULL,
        agent_id TEXT NOT NULL, worker_id TEXT NOT NULL, env_id TEXT NOT NULL,
        has_samples INTEGER NOT NULL,
        attempt_steps INTEGER NOT NULL, attempt_episodes INTEGER NOT NULL,
        reported_steps INTEGER NOT NULL, reported_episodes INTEGER NOT NULL,
        total_steps INTEGER, total_episodes INTEGER,
        rate_from_time REAL, rate_from_steps INTEGER NOT NULL,
        rate_mark_time REAL, rate_mark_steps INTEGER NOT NULL,
        rate_last_time REAL, rate_last_steps INTEGER NOT NULL
    )
    """,
)

PYRAMID_VERSION = 2
_PYRAMID = (
    *pyramid.BUILD,
    "CREATE INDEX episodes_by_number ON episodes (episode_index)",
)

# A metric may be the summary of several values, an episode is a point of a curve, and speed is
# measured without pauses. What this leaves to be found out about episodes is not said in SQL: see
# `episode_placing`.
PLACES_VERSION = 3
_PLACES = (
    "ALTER TABLE metrics ADD COLUMN count INTEGER NOT NULL DEFAULT 1",
    "ALTER TABLE metrics ADD COLUMN low REAL",
    "ALTER TABLE metrics ADD COLUMN high REAL",
    "ALTER TABLE episodes ADD COLUMN kind INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE episodes ADD COLUMN at_step INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE episodes ADD COLUMN count INTEGER NOT NULL DEFAULT 1",
    "CREATE INDEX evaluation_episodes ON episodes (cursor) WHERE kind = 2",
    *pyramid.WEIGH,
    *(
        f"ALTER TABLE ingest_state ADD COLUMN {column}"
        for column in (
            "resumed_from INTEGER NOT NULL DEFAULT 0",
            "last_episode_step INTEGER NOT NULL DEFAULT 0",
            "may_begin_anew INTEGER NOT NULL DEFAULT 0",
            "finished_episodes INTEGER NOT NULL DEFAULT 0",
            "has_training_curves INTEGER NOT NULL DEFAULT 0",
            "has_evaluation_curves INTEGER NOT NULL DEFAULT 0",
            "paused_since REAL",
            "paused_s REAL NOT NULL DEFAULT 0",
            "trained_from_time REAL",
            "trained_from_steps INTEGER NOT NULL DEFAULT 0",
            "earlier_s REAL NOT NULL DEFAULT 0",
            "earlier_steps INTEGER NOT NULL DEFAULT 0",
        )
    ),
)

# What SQL cannot say of them is in `TelemetryStore`.
MIGRATIONS: tuple[tuple[str, ...], ...] = (_INITIAL, _PYRAMID, _PLACES)


def require_own_schema(connection: sqlite3.Connection, version: int, path: Path) -> None:
    """Raises CorruptStoreError unless the store holds exactly the tables of that version.

    Anything else in it, a view in place of a table for example, would be run by whoever asks.
    """
    if version > len(MIGRATIONS):
        raise CorruptStoreError(f"{path} was written by a newer version of MOSAIC")
    found, known = schema_of(connection), _schema(version)
    if found != known and (others := set(found) ^ set(known)):
        names = ", ".join(sorted({str(name)[:80] for name, _ in others})[:3])
        raise CorruptStoreError(
            f"{path} does not hold the tables of a store: {names}",
            hint="it was changed by another program; the journal has all that was stored",
            path=str(path),
        )


@functools.cache
def _schema(version: int) -> list[SchemaRow]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        migrate(model, MIGRATIONS[:version])
        return schema_of(model)
