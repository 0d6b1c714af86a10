"""Questions to a run's store. Every one opens its own read-only connection and closes it.

A store that does not exist yet holds nothing; one that cannot be read raises CorruptStoreError.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.contracts.events import (
    EpisodeSummary,
    EventType,
    MetricPoint,
    RunLifecycleEvent,
    TrainingStep,
)
from mosaic.telemetry.store_reader import StoreReader, reading

_NO_LIMIT = -1


def steps(store_path: Path, episode_index: int, attempt: int | None = None) -> list[TrainingStep]:
    """The steps of an episode in their order, of the latest attempt that has it by default."""
    with reading(store_path) as store:
        if store is None:
            return []
        spans = store.rows(
            "SELECT first_cursor, last_cursor FROM episode_spans"
            " WHERE episode_index = ?1 AND (?2 IS NULL OR attempt = ?2)"
            " ORDER BY first_cursor DESC LIMIT 1",
            episode_index,
            attempt,
        )
        return [
            store.step(row)
            for first, last in spans
            for row in store.rows(
                "SELECT * FROM steps WHERE cursor BETWEEN ? AND ? AND episode_index = ?"
                " ORDER BY cursor",
                *(first, last, episode_index),
            )
        ]


def episodes(
    store_path: Path, limit: int | None = None, newest_first: bool = False
) -> list[EpisodeSummary]:
    with reading(store_path) as store:
        if store is None:
            return []
        order = "DESC" if newest_first else "ASC"
        limit = _NO_LIMIT if limit is None else max(0, limit)
        rows = store.rows(f"SELECT * FROM episodes ORDER BY cursor {order} LIMIT ?", limit)
        return [store.episode(row) for row in rows]


def lifecycle(
    store_path: Path, types: Collection[EventType] | None = None
) -> list[RunLifecycleEvent]:
    with reading(store_path) as store:
        if store is None:
            return []
        rows = store.rows("SELECT * FROM lifecycle ORDER BY cursor")
        return [store.lifecycle(row) for row in rows if types is None or row["type"] in types]


@dataclass(frozen=True)
class QuarantinedLine:
    cursor: int
    reason: str
    detail: str
    sample: bytes  # the beginning of the line


@dataclass(frozen=True)
class QuarantineSummary:
    lines: int = 0
    by_reason: dict[str, int] = field(default_factory=dict)
    samples: tuple[QuarantinedLine, ...] = ()


def quarantine_summary(store_path: Path) -> QuarantineSummary:
    """How many lines were no events and why, with the first of them to look at."""
    with reading(store_path) as store:
        if store is None:
            return QuarantineSummary()
        counts = {
            row["reason"]: row["lines"] for row in store.rows("SELECT * FROM quarantine_counts")
        }
        samples = store.rows(
            "SELECT cursor, reason, detail, sample FROM quarantine ORDER BY cursor"
        )
        return QuarantineSummary(
            lines=sum(counts.values()),
            by_reason=counts,
            samples=tuple(QuarantinedLine(*row) for row in samples),
        )


def metric_names(store_path: Path) -> list[str]:
    with reading(store_path) as store:
        return [] if store is None else _names(store)


def recent_metrics(
    store_path: Path, count: int, names: Collection[str] | None = None
) -> list[MetricPoint]:
    """The newest `count` points (of these names), oldest first."""
    with reading(store_path) as store:
        if store is None or count <= 0:
            return []
        rows = [
            row
            for name in (_names(store) if names is None else set(names))
            for row in store.rows(
                "SELECT * FROM metrics WHERE name = ? ORDER BY cursor DESC LIMIT ?", name, count
            )
        ]
        rows.sort(key=lambda row: row["cursor"])
        return [store.metric(row) for row in rows[-count:]]


def metric_series(
    store_path: Path,
    name: str,
    *,
    first_step: int | None = None,
    last_step: int | None = None,
    max_points: int | None = None,
) -> list[MetricPoint]:
    """One curve in journal order.

    With `max_points` a longer curve is cut into stretches, of each of which the lowest and the
    highest point remain: no spike is lost.
    """
    where = "name = ?"
    values: list[Any] = [name]
    if first_step is not None:
        where, values = f"{where} AND step >= ?", [*values, first_step]
    if last_step is not None:
        where, values = f"{where} AND step <= ?", [*values, last_step]
    with reading(store_path) as store:
        if store is None:
            return []
        if max_points is not None:
            some = f"SELECT 1 FROM metrics WHERE {where} LIMIT {max_points + 1}"
            if store.rows(f"SELECT count(*) FROM ({some})", *values)[0][0] > max_points:
                return _extremes(store, where, values, max_points)
        rows = store.rows(f"SELECT * FROM metrics WHERE {where} ORDER BY cursor", *values)
        return [store.metric(row) for row in rows]


def _extremes(
    store: StoreReader, where: str, values: list[Any], max_points: int
) -> list[MetricPoint]:
    ends = f"SELECT cursor FROM metrics WHERE {where} ORDER BY cursor"
    first = store.rows(f"{ends} ASC LIMIT 1", *values)[0]["cursor"]
    last = store.rows(f"{ends} DESC LIMIT 1", *values)[0]["cursor"]
    width = (last - first) // max(1, max_points // 2) + 1
    found = {}
    for start in range(first, last + 1, width):
        for extreme in ("min", "max"):
            # SQLite fills the other columns from the row that has the minimum or maximum.
            (row,) = store.rows(
                f"SELECT *, {extreme}(value) FROM metrics WHERE {where} AND cursor BETWEEN ? AND ?",
                *(*values, start, start + width - 1),
            )
            if row["cursor"] is not None:
                found[row["cursor"]] = row
    return [store.metric(found[cursor]) for cursor in sorted(found)]


def _names(store: StoreReader) -> list[str]:
    # Jumps from name to name in the key instead of reading every row.
    rows = store.rows(
        "WITH RECURSIVE known(name) AS ("
        " SELECT min(name) FROM metrics UNION ALL"
        " SELECT (SELECT min(name) FROM metrics WHERE name > known.name) FROM known"
        " WHERE known.name IS NOT NULL"
        ") SELECT name FROM known WHERE name IS NOT NULL"
    )
    return [row["name"] for row in rows]
