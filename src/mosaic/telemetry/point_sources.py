"""Where the points of a curve are: a metric's in `metrics`, those of the four curves of episodes in
the table of episodes itself, so that no episode is stored twice."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.episode_statistics import EPISODE_CURVES

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
