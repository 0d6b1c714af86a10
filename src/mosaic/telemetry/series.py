"""Questions about the metrics of a store: which there are, a curve in buckets, its points.

A bucket's low, high and mean are those of its finite values, and NaN where it has none; `counts`
counts every point. Buckets are as wide as the range divided by their number, in steps, so that each
can be one column of pixels. A range of steps is made up of stored buckets and points, from the
coarsest that will do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.telemetry.store.pyramid import (
    LOGGED,
    LOGGED_COLUMNS,
    MERGED_COLUMNS,
    SIZES,
    TOP_LEVEL,
    as_bucket,
)
from mosaic.telemetry.store.reader import StoreReader

# No cursor and no step is beyond this.
END = 2**62
# Steps that jump back and forth make every bucket wide: if there are more than this, none is split.
# Of a curve whose steps rise, no more can be wide than the number of buckets asked for.
MAX_WIDE = 8_192
MAX_RUNS = 2_000
FEW = 64


class Stretch(NamedTuple):
    """All buckets of a level (points: level 0) that begin between two cursors, both included."""

    level: int
    first: int
    last: int


class StepRange(NamedTuple):
    """A part of a metric's steps, and how many points the whole metric has."""

    first: int
    last: int
    points: int


# Where a bucket lies: outside of the range, inside, across one of its ends, or inside and longer
# than what should be told apart.
_OUTSIDE, _INSIDE, _ACROSS, _WIDE = range(4)
_KIND = f"""
    CASE WHEN last_step < :first_step OR first_step > :last_step THEN {_OUTSIDE}
        WHEN first_step < :first_step OR last_step > :last_step THEN {_ACROSS}
        WHEN last_step - first_step >= :span THEN {_WIDE}
        ELSE {_INSIDE} END
"""
_BUCKETS = """
    FROM metric_buckets
    WHERE name = :name AND level = :level AND first_cursor BETWEEN :first AND :last
"""
_KINDS = (
    f"SELECT min({_KIND}), max({_KIND}), total({_KIND} = {_WIDE}), min(first_cursor) {_BUCKETS}"
)
# Only where the kind changes does a row come out: fetching is what takes time.
_RUNS = f"""
    SELECT first_cursor, kind FROM (
        SELECT first_cursor, kind, lag(kind) OVER (ORDER BY first_cursor) AS before
        FROM (SELECT first_cursor, {_KIND} AS kind {_BUCKETS})
    ) WHERE kind IS NOT before ORDER BY first_cursor
"""


def choose_pieces(store: StoreReader, name: str, steps: StepRange, span: int) -> list[Stretch]:
    """In the order of their levels. Points of level 0 may lie outside of the range, buckets don't.

    Buckets that cover `span` steps or more are split further, as far as that can be afforded.
    """
    chosen: list[Stretch] = []
    open_stretches = [(0, END)]
    top = _level_to_begin_with(steps.points) if store.has_pyramid(name) else 0
    for level in range(top, 0, -1):
        deeper: list[tuple[int, int]] = []
        for first, last in open_stretches:
            until = _filled_until(store, name, level, first) if last == END else last
            runs = _runs(store, name, Stretch(level, first, until), steps, span)
            if len(runs) > MAX_RUNS:
                chosen.append(Stretch(0, first, until))
            else:
                for start, end, kind in runs:
                    if kind == _INSIDE:
                        chosen.append(Stretch(level, start, end))
                    elif kind != _OUTSIDE:
                        deeper.append((start, end))
            if last == END:
                deeper.append((until + 1, END))
        open_stretches = deeper
    return chosen + [Stretch(0, first, last) for first, last in open_stretches]


def _level_to_begin_with(points: int) -> int:
    """A handful of buckets at the top would only have to be split."""
    levels = [level for level in range(1, TOP_LEVEL + 1) if points >= FEW * SIZES[level]]
    return max(levels, default=1)


def _filled_until(store: StoreReader, name: str, level: int, first: int) -> int:
    """The cursor up to which there are buckets of this level."""
    found = store.rows(
        "SELECT last_cursor FROM metric_buckets WHERE name = ? AND level = ?"
        " ORDER BY first_cursor DESC LIMIT 1",
        *(name, level),
    )
    return found[0][0] if found else first - 1


def _runs(
    store: StoreReader, name: str, stretch: Stretch, steps: StepRange, span: int
) -> list[tuple[int, int, int]]:
    """Buckets of the same kind that follow each other: first and last cursor, kind."""
    if stretch.first > stretch.last:
        return []
    values = {"name": name, "first_step": steps.first, "last_step": steps.last, "span": span}
    values |= stretch._asdict()
    lowest, highest, wide, first = store.rows(_KINDS, values)[0]
    if wide > MAX_WIDE:
        values["span"] = END
    elif lowest == highest:
        # All alike, as in the middle of a long curve: nothing has to be told apart.
        return [] if first is None else [(first, stretch.last, lowest)]
    rows = store.rows(_RUNS, values)
    ends = [row["first_cursor"] - 1 for row in rows[1:]] + [stretch.last]
    return [(row["first_cursor"], end, row["kind"]) for row, end in zip(rows, ends, strict=False)]


def merge_statement(pieces: Sequence[Stretch], source: str, column: str = "") -> str:
    """One row per column, or one in all: see MERGED_COLUMNS.

    `source` has the points, `column` is an expression of `first_step`. Wants :name, :first_step
    and :last_step.
    """
    grouping = f"GROUP BY {column}" if column else ""
    buckets, points = (_stretch_rows(pieces, of_points) for of_points in (False, True))
    parts = []
    if buckets:
        parts.append(
            "SELECT first_cursor, first_step, last_step, points, finite, low, high, total,"
            f" timestamp FROM ({buckets}) AS stretch CROSS JOIN metric_buckets"
            " WHERE name = :name AND metric_buckets.level = stretch.level"
            " AND first_cursor BETWEEN stretch.first AND stretch.last"
        )
    if points:
        # Summed up before they meet the buckets, as there may be very many.
        parts.append(
            "SELECT min(first_cursor) AS first_cursor, min(first_step) AS first_step,"
            " max(last_step) AS last_step, sum(points) AS points, sum(finite) AS finite,"
            " min(low) AS low, max(high) AS high, sum(total) AS total,"
            " max(timestamp) AS timestamp FROM ("
            f" SELECT {as_bucket(LOGGED_COLUMNS)}"
            f" FROM ({points}) AS stretch CROSS JOIN {source}"
            " WHERE name = :name AND cursor BETWEEN stretch.first AND stretch.last"
            f" AND step BETWEEN :first_step AND :last_step LIMIT -1) {grouping}"
        )
    ordering = "ORDER BY min(first_cursor)" if column else ""
    return f"SELECT {MERGED_COLUMNS} FROM ({' UNION ALL '.join(parts)}) {grouping} {ordering}"


def _stretch_rows(pieces: Sequence[Stretch], of_points: bool) -> str:
    chosen = [piece for piece in pieces if (piece.level == 0) is of_points]
    rows = ", ".join(f"({level}, {first}, {last})" for level, first, last in chosen)
    if not rows:
        return ""
    return f"SELECT column1 AS level, column2 AS first, column3 AS last FROM (VALUES {rows})"


_LAST_VALUE = "(SELECT value FROM {points} WHERE name = {name} ORDER BY cursor DESC LIMIT 1)"
_SUMMED_UP = f"""
    SELECT name, counted, first_step, last_step, {_LAST_VALUE} FROM metric_summaries AS summary
    WHERE NOT of_episodes ORDER BY name LIMIT ?
""".format(points=LOGGED, name="summary.name")
# Of a version without such summaries.
_BY_POINT = f"""
    SELECT name, points, first_step, last_step, {_LAST_VALUE} FROM (
        SELECT name, count(*) AS points, min(step) AS first_step, max(step) AS last_step
        FROM metrics GROUP BY name
    ) AS summary ORDER BY name LIMIT ?
""".format(points=LOGGED, name="summary.name")
_OF_EPISODES = f"""
    SELECT :name, sum(count), min(step), max(step), {_LAST_VALUE} FROM {{points}}
"""


def metric_infos(store: StoreReader, limit: int) -> list[MetricInfo]:
    """By name; first and last step are the lowest and the highest."""
    curves = store.episode_curves
    rows = store.rows(_SUMMED_UP if store.is_current else _BY_POINT, limit)
    rows = [row for row in rows if row[0] not in curves]
    for name in curves:
        statement = _OF_EPISODES.format(points=store.points(name), name=":name")
        rows += store.rows(statement, {"name": name})
    rows.sort(key=lambda row: row[0])
    return [
        MetricInfo(name, points, first, last, math.nan if value is None else value)
        for name, points, first, last, value in rows[:limit]
    ]


def bucketed_series(
    store: StoreReader, name: str, first_step: int | None, last_step: int | None, buckets: int
) -> MetricSeries:
    """The curve between two steps in at most this many buckets; single points if they fit."""
    steps = _known_range(store, name, first_step, last_step)
    if steps is None:
        return _empty(store, name)
    width = (steps.last - steps.first + 1) / buckets
    pieces = choose_pieces(store, name, steps, span=max(1, int(width)))
    # Rounding must not make one column more of steps that are very far apart.
    column = f"min(CAST((first_step - :first_step) / :width AS INTEGER), {buckets - 1})"
    values = {"name": name, "first_step": steps.first, "last_step": steps.last, "width": width}
    rows = store.rows(merge_statement(pieces, store.points(name), column), values)
    if not rows:  # a gap in the curve
        return _empty(store, name)
    firsts, lasts, counts, finite, lows, highs, totals, timestamps = zip(*rows, strict=True)
    points = sum(counts)
    if points <= buckets:
        return _points(store, name, steps, pieces, 0, buckets, points)
    return MetricSeries(
        store.run_id,
        name,
        first_steps=firsts,
        last_steps=lasts,
        means=tuple(map(_mean, finite, lows, highs, totals)),
        lows=_with_nan(lows),
        highs=_with_nan(highs),
        counts=counts,
        timestamps=timestamps,
        points=points,
    )


def point_series(
    store: StoreReader,
    name: str,
    first_step: int | None,
    last_step: int | None,
    from_cursor: int,
    limit: int,
) -> MetricSeries:
    """A page of the points themselves; `next_cursor` is the `from_cursor` of the next page."""
    steps = _known_range(store, name, first_step, last_step)
    if steps is None:
        return _empty(store, name)
    pieces = choose_pieces(store, name, steps, span=END)
    values = {"name": name, "first_step": steps.first, "last_step": steps.last}
    ((_, _, points, *_),) = store.rows(merge_statement(pieces, store.points(name)), values)
    return _points(store, name, steps, pieces, from_cursor, limit, points or 0)


def _known_range(
    store: StoreReader, name: str, first_step: int | None, last_step: int | None
) -> StepRange | None:
    """What of the range the metric can have points in; None where it has none."""
    if store.has_pyramid(name):
        statement = "SELECT first_step, last_step, points FROM metric_summaries WHERE name = ?"
    else:
        statement = (
            f"SELECT min(step), max(step), count(*) FROM {store.points(name)} WHERE name = ?"
        )
    found = store.rows(statement, name)
    if not found or found[0][0] is None:
        return None
    lowest, highest, points = found[0]
    first = lowest if first_step is None else max(lowest, first_step)
    last = highest if last_step is None else min(highest, last_step)
    return StepRange(first, last, points) if first <= last else None


def _points(
    store: StoreReader,
    name: str,
    steps: StepRange,
    pieces: Sequence[Stretch],
    from_cursor: int,
    limit: int,
    points: int,
) -> MetricSeries:
    rows: list[Sequence[float]] = []
    for _, first, last in sorted(pieces, key=lambda piece: piece.first):
        if last >= from_cursor and len(rows) <= limit:
            rows += store.rows(
                "SELECT cursor, step, value, timestamp, count, coalesce(low, value),"
                f" coalesce(high, value) FROM {store.points(name)}"
                " WHERE name = ? AND cursor BETWEEN ? AND ? AND step BETWEEN ? AND ?"
                " ORDER BY cursor LIMIT ?",
                *(name, max(first, from_cursor), last, steps.first, steps.last),
                limit + 1 - len(rows),
            )
    page = rows[:limit]
    at = tuple(int(row[1]) for row in page)
    values, lows, highs = (
        tuple(math.nan if row[column] is None else row[column] for row in page)
        for column in (2, 5, 6)
    )
    return MetricSeries(
        store.run_id,
        name,
        first_steps=at,
        last_steps=at,
        means=values,
        lows=lows,
        highs=highs,
        counts=tuple(int(row[4]) for row in page),
        timestamps=tuple(row[3] for row in page),
        points=points,
        next_cursor=int(rows[limit][0]) if len(rows) > limit else 0,
    )


def _mean(finite: int, low: float | None, high: float | None, total: float | None) -> float:
    if low is None or high is None:
        return math.nan
    # The sum of huge values may be infinite (SQLite: NULL where both infinities met), their mean
    # cannot; and rounding must not lead out of the bucket.
    if total is None or not math.isfinite(total):
        return low / 2 + high / 2
    mean = total / finite
    return low if mean < low else high if mean > high else mean


def _with_nan(values: tuple[float | None, ...]) -> tuple[float, ...]:
    return tuple(math.nan if value is None else value for value in values)


def _empty(store: StoreReader, name: str) -> MetricSeries:
    return MetricSeries(store.run_id, name, (), (), (), (), (), (), (), points=0)
