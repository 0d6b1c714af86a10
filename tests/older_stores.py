"""A run's store as an earlier version would have left it."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from mosaic.telemetry.store.schema import MIGRATIONS


def make_older(path: Path, version: int) -> None:
    """The rows of the store in the tables of that version."""
    older = path.with_name(f"{path.name}.older")
    with contextlib.closing(sqlite3.connect(older, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        for statement in (each for statements in MIGRATIONS[:version] for each in statements):
            db.execute(statement)
        db.execute("ATTACH ? AS newer", (str(path),))
        tables = db.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            columns = db.execute(f"SELECT name FROM pragma_table_info('{table}')").fetchall()
            listed = ", ".join(name for (name,) in columns)
            known = "WHERE NOT of_episodes" if table == "metric_summaries" else ""
            if table == "metric_buckets":
                known = "WHERE name IN (SELECT name FROM metric_summaries)"
            db.execute(f"INSERT INTO {table} SELECT {listed} FROM newer.{table} {known}")
        db.execute("DETACH newer")
        db.execute(f"PRAGMA user_version = {version}")
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    older.rename(path)
