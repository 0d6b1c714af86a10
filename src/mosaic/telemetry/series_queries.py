"""Questions about the metrics of a store: which there are, a curve in buckets, its points.

A bucket's low, high and mean are those of its finite values, and NaN where it has none; `counts`
counts every point. Buckets are as wide as the range divided by their number, in steps, so that
each can be one column of pixels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mosaic.contracts.history import MetricInfo, MetricSeries
from mosaic.telemetry.curve_pieces import (
    END,
    StepRange,
    Stretch,
    choose_pieces,
    merge_statement,
)
from mosaic.telemetry.point_sources import LOGGED
from mosaic.telemetry.store_reader import StoreReader

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
    """The curve between two steps in at most so many buckets; each point for itself if they fit."""
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
