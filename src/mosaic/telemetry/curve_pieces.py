"""Which buckets and points of a metric make up a range of steps, from the coarsest that will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from mosaic.telemetry.point_sources import LOGGED_COLUMNS, as_bucket
from mosaic.telemetry.pyramid import MERGED_COLUMNS, SIZES, TOP_LEVEL
from mosaic.telemetry.store_reader import StoreReader

# No cursor and no step is beyond this.
END = 2**62
# Steps that run to and fro make every bucket wide: where there are more than these, none is split.
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
