"""Curves in buckets of rising size, so that a long one is shown without reading its points.

A bucket of level 1 sums up 32 points that follow each other, one of every further level 8 buckets
of the level below. Only full buckets are stored, so none ever changes; what has no bucket yet is
less than one bucket of each level and is read from the level below. The pyramid is a pure
function of the points: everything here is a statement that SQLite carries out on all metrics at
once, in the transaction that stores the points.

A point may be the summary of several values (`count`): it weighs as many, in one place. The points
of the curves of episodes are the episodes (see `PointColumns`); their buckets are like all others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import dataclass

from mosaic.contracts.metrics import EPISODE_CURVES, EpisodeKind

LOGGED = "metrics"
# What SQLite calls NaN is NULL, and no number exceeds this but infinity.
_FINITE = "CASE WHEN abs({value}) < 9e999 THEN {then} END"


@dataclass(frozen=True)
class PointColumns:
    """What is said of a point, as expressions of its row. A point may sum up several values."""

    value: str = "value"
    step: str = "step"
    count: str = "1"
    low: str = "value"
    high: str = "value"
    is_finite: bool = False  # always, so that nobody has to look


LOGGED_COLUMNS = PointColumns(
    count="count", low="coalesce(low, value)", high="coalesce(high, value)"
)


def columns_of_episodes(name: str) -> PointColumns:
    column = EPISODE_CURVES[name].column
    return PointColumns(column, "at_step", "count", column, column, is_finite=column == "steps")


def as_bucket(of: PointColumns) -> str:
    """The columns of a bucket, for a bucket that is one point."""
    step, count = of.step, of.count

    def finite(then: str) -> str:
        return then if of.is_finite else _FINITE.format(value=of.value, then=then)

    return f"""
        cursor AS first_cursor, cursor AS last_cursor, {step} AS first_step, {step} AS last_step,
        {count} AS points, coalesce({finite(count)}, 0) AS finite, {finite(of.low)} AS low,
        {finite(of.high)} AS high, {finite(f"{of.value} * {count}")} AS total, timestamp
    """


def episode_points(name: str, episodes: str = "episodes") -> str:
    """The points of this curve of episodes, with the columns of `metrics`.

    `episodes` has `kind`, `at_step` and `count` beside the columns every version has.
    """
    kind, column = EPISODE_CURVES[name]
    return (
        f"(SELECT '{name}' AS name, cursor, seq, timestamp, {column} AS value, at_step AS step,"
        f" count, NULL AS low, NULL AS high FROM {episodes} WHERE kind = {kind:d})"
    )


SMALLEST = 32
FAN_OUT = 8
# Points per bucket, by level; level 0 are the points themselves.
SIZES = (1, *(SMALLEST * FAN_OUT**level for level in range(6)))
TOP_LEVEL = len(SIZES) - 1

_TABLES = (
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

MERGED_COLUMNS = """
    min(first_step), max(last_step), sum(points), sum(finite),
    min(low), max(high), sum(total), max(timestamp)
"""


def _fill_statement(level: int, table: str, columns: str, is_of: str, chosen: str = "") -> str:
    """Make all buckets of a level for which there is enough of the level below.

    That is in `table`, in the rows of which `is_of` is true: {0} is a row with the name of the
    metric. `chosen` says which metrics are looked at.
    """
    size, below = SIZES[level], level - 1
    first, last = ("first_cursor", "last_cursor") if below else ("cursor", "cursor")
    # The cursor at which a bucket ends that begins behind the given one.
    end = f"""
        (SELECT source.{last} FROM {table} AS source
         WHERE {is_of} AND source.{first} > {{0}}.{{1}}
         ORDER BY source.{first} LIMIT 1 OFFSET {size // SIZES[below] - 1})
    """
    return f"""
        WITH RECURSIVE due (name, buckets, behind) AS (
            SELECT name, points / {size} - bucketed / {size}, coalesce(
                (SELECT last_cursor FROM metric_buckets AS filled
                 WHERE filled.name = metric_summaries.name AND filled.level = {level}
                 ORDER BY first_cursor DESC LIMIT 1), -1)
            FROM metric_summaries
            WHERE points - bucketed >= {SMALLEST} AND points / {size} > bucketed / {size} {chosen}
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
        WHERE {is_of.format("span")}
            AND source.first_cursor > span.behind AND source.first_cursor <= span.until
        GROUP BY span.name, span.behind
    """


_SAME_NAME = "source.name = {0}.name"
_FILL_FROM_METRICS = _fill_statement(
    1, LOGGED, f"name, {as_bucket(LOGGED_COLUMNS)}", _SAME_NAME, chosen="AND NOT of_episodes"
)
_FILL_FROM_EPISODES = {
    name: _fill_statement(
        1,
        "episodes",
        f"kind, {as_bucket(columns_of_episodes(name))}",
        f"source.kind = {curve.kind:d}",
        f"AND of_episodes AND name = '{name}'",
    )
    for name, curve in EPISODE_CURVES.items()
}
_FILL_FROM_BUCKETS = {
    level: _fill_statement(
        level, "metric_buckets", "*", f"{_SAME_NAME} AND source.level = {level - 1}"
    )
    for level in range(2, TOP_LEVEL + 1)
}
_FILLED = f"""
    UPDATE metric_summaries SET bucketed = points / {SMALLEST} * {SMALLEST}
    WHERE points - bucketed >= {SMALLEST}
"""
_SUM_UP = """
    INSERT INTO metric_summaries
    SELECT name, count(*), 0, min(step), max(step), sum(count), {of_episodes}
    FROM {points} {chosen} GROUP BY name
"""

# Makes the whole pyramid of a store that has none, in the version that introduced them.
BUILD = (
    *_TABLES,
    "INSERT INTO metric_summaries SELECT name, count(*), 0, min(step), max(step) FROM metrics"
    " GROUP BY name",
    _fill_statement(1, LOGGED, f"name, {as_bucket(PointColumns())}", _SAME_NAME),
    *_FILL_FROM_BUCKETS.values(),
    _FILLED,
)
# From the next version on: how many values the points are in all, and whose points they are.
WEIGH = (
    "ALTER TABLE metric_summaries ADD COLUMN counted INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE metric_summaries ADD COLUMN of_episodes INTEGER NOT NULL DEFAULT 0",
    "UPDATE metric_summaries SET counted = points",
)


def fill_buckets(connection: sqlite3.Connection) -> None:
    """Make the buckets that have become full. To be called where points were added."""
    (longest,) = connection.execute(
        f"SELECT max(points) FROM metric_summaries WHERE points - bucketed >= {SMALLEST}"
    ).fetchone()
    if longest is None:
        return
    connection.execute(_FILL_FROM_METRICS)
    curves = connection.execute(
        f"SELECT name FROM metric_summaries WHERE points - bucketed >= {SMALLEST} AND of_episodes"
    ).fetchall()
    for (name,) in curves:
        connection.execute(_FILL_FROM_EPISODES[name])
    for level, statement in _FILL_FROM_BUCKETS.items():
        if longest >= SIZES[level]:
            connection.execute(statement)
    connection.execute(_FILLED)


def sum_up_episodes(connection: sqlite3.Connection, names: Collection[str]) -> None:
    """Summaries of these curves of episodes from all their points; those without any have none."""
    for name in names:
        connection.execute(_SUM_UP.format(points=episode_points(name), chosen="", of_episodes="1"))


def rename_metric(connection: sqlite3.Connection, name: str, new_name: str) -> None:
    """Its points join those that have the new name already, if there are any."""
    connection.execute("UPDATE metrics SET name = ? WHERE name = ?", (new_name, name))
    if not connection.execute("SELECT changes()").fetchone()[0]:
        return
    for table in ("metric_buckets", "metric_summaries"):
        connection.execute(f"DELETE FROM {table} WHERE name IN (?, ?)", (name, new_name))
    connection.execute(
        _SUM_UP.format(points=LOGGED, chosen="WHERE name = ?", of_episodes="0"), (new_name,)
    )


def remove_points(connection: sqlite3.Connection, before_cursor: int, beyond_step: int) -> None:
    """Delete these points, and all buckets from the first deleted point of a metric on.

    Those that remain are made again by `fill_buckets`. Episodes stay, but count no more.
    """
    bounds = (before_cursor, beyond_step)
    _begin_cut(connection)
    connection.execute(
        "INSERT INTO temp.cut SELECT name, min(cursor) FROM metrics"
        " WHERE name IN (SELECT name FROM metric_summaries WHERE last_step > ?2)"
        " AND cursor < ?1 AND step > ?2 GROUP BY name",
        bounds,
    )
    connection.execute(
        "DELETE FROM metrics WHERE name IN (SELECT name FROM temp.cut) AND cursor < ? AND step > ?",
        bounds,
    )
    _remove_episodes(connection, *bounds)
    _end_cut(connection)


def remove_episodes(connection: sqlite3.Connection, before_cursor: int) -> None:
    """All episodes before this count no more."""
    _begin_cut(connection)
    _remove_episodes(connection, before_cursor, None)
    _end_cut(connection)


def _begin_cut(connection: sqlite3.Connection) -> None:
    connection.execute(
        "CREATE TEMP TABLE IF NOT EXISTS cut (name TEXT PRIMARY KEY, cursor INTEGER) WITHOUT ROWID"
    )
    connection.execute("DELETE FROM temp.cut")


def _remove_episodes(
    connection: sqlite3.Connection, before_cursor: int, beyond_step: int | None
) -> None:
    gone = "cursor < ?1 AND (?2 IS NULL OR {} > ?2)"
    bounds = (before_cursor, beyond_step)
    for name in EPISODE_CURVES:
        connection.execute(
            "INSERT INTO temp.cut SELECT name, min(cursor)"
            f" FROM {episode_points(name)} WHERE {gone.format('step')} GROUP BY name",
            bounds,
        )
    connection.execute(
        f"UPDATE episodes SET kind = {EpisodeKind.UNCOUNTED:d}"
        f" WHERE kind != {EpisodeKind.UNCOUNTED:d} AND {gone.format('at_step')}",
        bounds,
    )


def _end_cut(connection: sqlite3.Connection) -> None:
    chosen = "WHERE name IN (SELECT name FROM temp.cut)"
    connection.execute(
        "DELETE FROM metric_buckets WHERE last_cursor >="
        " (SELECT cursor FROM temp.cut WHERE cut.name = metric_buckets.name)"
    )
    curves = connection.execute(
        f"SELECT name FROM metric_summaries {chosen} AND of_episodes"
    ).fetchall()
    connection.execute(f"DELETE FROM metric_summaries {chosen}")
    connection.execute(_SUM_UP.format(points=LOGGED, chosen=chosen, of_episodes="0"))
    sum_up_episodes(connection, [name for (name,) in curves])
    connection.execute(
        f"UPDATE metric_summaries SET bucketed = {SMALLEST} * (SELECT count(*) FROM metric_buckets"
        f" WHERE metric_buckets.name = metric_summaries.name AND level = 1) {chosen}"
    )
