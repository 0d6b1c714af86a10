"""Questions to a run's store that are small enough to be answered whole.

Every one opens its own read-only connection and closes it. Curves are in `series_queries`, lists
of episodes and steps in `episode_pages`.

A store that does not exist yet holds nothing; one that cannot be read raises CorruptStoreError.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.contracts.events import EventType, MetricPoint, RunLifecycleEvent, TrainingStep
from mosaic.telemetry.episode_pages import episode_span
from mosaic.telemetry.store_reader import StoreReader, reading


def steps(store_path: Path, episode_index: int, attempt: int | None = None) -> list[TrainingStep]:
    """The steps of an episode in their order, of the latest attempt that has it by default."""
    with reading(store_path) as store:
        if store is None:
            return []
        return [
            store.step(row)
            for first, last in episode_span(store, episode_index, attempt)
            for row in store.rows(
                "SELECT * FROM steps WHERE cursor BETWEEN ? AND ? AND episode_index = ?"
                " ORDER BY cursor",
                *(first, last, episode_index),
            )
        ]


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
                f"SELECT * FROM {store.points(name)} WHERE name = ? ORDER BY cursor DESC LIMIT ?",
                *(name, count),
            )
        ]
        # Several curves may have a point of the same event.
        rows.sort(key=lambda row: (row["cursor"], row["name"]))
        return [store.metric(row) for row in rows[-count:]]


def _names(store: StoreReader) -> set[str]:
    # Jumps from name to name in the key instead of reading every row.
    rows = store.rows(
        "WITH RECURSIVE known(name) AS ("
        " SELECT min(name) FROM metrics UNION ALL"
        " SELECT (SELECT min(name) FROM metrics WHERE name > known.name) FROM known"
        " WHERE known.name IS NOT NULL"
        ") SELECT name FROM known WHERE name IS NOT NULL"
    )
    return {row["name"] for row in rows} | store.episode_curves
