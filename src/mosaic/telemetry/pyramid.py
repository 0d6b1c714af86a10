"""Curves in buckets of rising size, so that a long one is shown without reading its points.

A bucket of level 1 sums up 32 points that follow each other, one of every further level 8 buckets
of the level below. Only full buckets are stored, so none ever changes; what has no bucket yet is
less than one bucket of each level and is read from the level below. The pyramid is a pure
function of the points: everything here is a statement that SQLite carries out on all metrics at
once, in the transaction that stores the points.
"""

from __future__ import annotations

import sqlite3

SMALLEST = 32
FAN_OUT = 8
# Points per bucket, by level; level 0 are the points themselves.
SIZES = (1, *(SMALLEST * FAN_OUT**level for level in range(6)))
TOP_LEVEL = len(SIZES) - 1

# What SQLite calls NaN is NULL, and no number exceeds this but infinity.
FINITE = "CASE WHEN abs(value) < 9e999 THEN value END"

TABLES = (
    # `bucketed` of the points are in buckets of level 1.
    """
    CREATE TABLE metric_summaries (
        name TEXT PRIMARY KEY, points INTEGER NOT NULL, bucketed INTEGER NOT NULL,
        first_step INTEGER NOT NULL, last_step INTEGER NOT NULL
    ) WITHOUT ROWID
    """,
    f"CREATE INDEX metrics_due ON metric_summaries (name) WHERE points - bucketed >= {SMALLEST}",
    # low, high and total are those of the finite values; timestamp is the latest.
    """
    CREATE TABLE metric_buckets (
        name TEXT NOT NULL, level INTEGER NOT NULL,
        first_cursor INTEGER NOT NULL, last_cursor INTEGER NOT NULL,
        first_step INTEGER NOT NULL, last_step INTEGER NOT NULL,
        points INTEGER NOT NULL, finite INTEGER NOT NULL,
        low REAL, high REAL, total REAL, timestamp REAL NOT NULL,
        PRIMARY KEY (name, level, first_cursor)
    ) WITHOUT ROWID
    """,
)

# Where each column of a bucket comes from when it is made of points.
POINT_COLUMNS = f"""
    cursor AS first_cursor, cursor AS last_cursor, step AS first_step, step AS last_step,
    1 AS points, value IS NOT NULL AND abs(value) < 9e999 AS finite,
    {FINITE} AS low, {FINITE} AS high, {FINITE} AS total, timestamp
"""
MERGED_COLUMNS = """
    min(first_step), max(last_step), sum(points), sum(finite),
    min(low), max(high), sum(total), max(timestamp)
"""


def _fill_statement(level: int) -> str:
    """Make all buckets of a level for which there are enough buckets of the level below."""
    size, below = SIZES[level], level - 1
    first, last = ("first_cursor", "last_cursor") if below else ("cursor", "cursor")
    table = "metric_buckets" if below else "metrics"
    of_level = f"AND source.level = {below}" if below else ""
    columns = "*" if below else f"name, {POINT_COLUMNS}"
    # The cursor at which a bucket ends that begins behind the given one.
    end = f"""
        (SELECT source.{last} FROM {table} AS source
         WHERE source.name = {{0}}.name {of_level} AND source.{first} > {{0}}.{{1}}
         ORDER BY source.{first} LIMIT 1 OFFSET {size // SIZES[below] - 1})
    """
    return f"""
        WITH RECURSIVE due (name, buckets, behind) AS (
            SELECT name, points / {size} - bucketed / {size}, coalesce(
                (SELECT last_cursor FROM metric_buckets AS filled
                 WHERE filled.name = metric_summaries.name AND filled.level = {level}
                 ORDER BY first_cursor DESC LIMIT 1), -1)
            FROM metric_summaries
            WHERE points - bucketed >= {SMALLEST} AND points / {size} > bucketed / {size}
        ),
        span (name, buckets, behind, until) AS (
            SELECT name, buckets, behind, {end.format("due", "behind")} FROM due
            UNION ALL
            SELECT name, buckets - 1, until, {end.format("span", "until")} FROM span
            WHERE buckets > 1
        )
        INSERT INTO metric_buckets
        SELECT span.name, {level}, min(first_cursor), max(last_cursor), {MERGED_COLUMNS}
        FROM span CROSS JOIN (SELECT {columns} FROM {table} AS source) AS source
        WHERE source.name = span.name {of_level}
            AND source.first_cursor > span.behind AND source.first_cursor <= span.until
        GROUP BY span.name, span.behind
    """


_FILL = tuple(_fill_statement(level) for level in range(1, TOP_LEVEL + 1))
_FILLED = f"""
    UPDATE metric_summaries SET bucketed = points / {SMALLEST} * {SMALLEST}
    WHERE points - bucketed >= {SMALLEST}
"""
_SUM_UP = """
    INSERT INTO metric_summaries
    SELECT name, count(*), 0, min(step), max(step) FROM metrics {chosen} GROUP BY name
"""

# Makes the whole pyramid of a store that has none.
BUILD = (*TABLES, _SUM_UP.format(chosen=""), *_FILL, _FILLED)


def fill_buckets(connection: sqlite3.Connection) -> None:
    """Make the buckets that have become full. To be called where points were added."""
    (longest,) = connection.execute(
        f"SELECT max(points) FROM metric_summaries WHERE points - bucketed >= {SMALLEST}"
    ).fetchone()
    if longest is None:
        return
    for level, statement in enumerate(_FILL, start=1):
        if longest >= SIZES[level]:
            connection.execute(statement)
    connection.execute(_FILLED)


def remove_points(connection: sqlite3.Connection, before_cursor: int, beyond_step: int) -> None:
    """Delete these points, and all buckets from the first deleted point of a metric on.

    Those that remain are made again by `fill_buckets`.
    """
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS cut (name TEXT PRIMARY KEY, cursor INTEGER) WITHOUT ROWID"
    )
    connection.execute("DELETE FROM temp.cut")
    connection.execute(
        "INSERT INTO temp.cut SELECT name, min(cursor) FROM metrics"
        " WHERE name IN (SELECT name FROM metric_summaries WHERE last_step > ?2)"
        " AND cursor < ?1 AND step > ?2 GROUP BY name",
        (before_cursor, beyond_step),
    )
    chosen = "WHERE name IN (SELECT name FROM temp.cut)"
    connection.execute(
        f"DELETE FROM metrics {chosen} AND cursor < ? AND step > ?", (before_cursor, beyond_step)
    )
    connection.execute(
        "DELETE FROM metric_buckets WHERE last_cursor >="
        " (SELECT cursor FROM temp.cut WHERE cut.name = metric_buckets.name)"
    )
    connection.execute(f"DELETE FROM metric_summaries {chosen}")
    connection.execute(_SUM_UP.format(chosen=chosen))
    connection.execute(
        f"UPDATE metric_summaries SET bucketed = {SMALLEST} * (SELECT count(*) FROM metric_buckets"
        f" WHERE metric_buckets.name = metric_summaries.name AND level = 1) {chosen}"
    )
