"""Questions to a run's store: episodes and steps in pages, and what is answered whole.

Curves are in `series`. Rows of pages are mappings with the column names of the wire contract; JSON
values stay the text they are. A page ends after this many rows or this many bytes, whichever comes
first. To continue, hand in its `next_cursor`; 0 means that there is nothing more.

Whole answers open their own read-only connection and close it. A store that does not exist
yet holds nothing; one that cannot be read raises CorruptStoreError.
"""

from __future__ import annotations

import hashlib
import math
import re
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from mosaic.contracts.events import EventType, MetricPoint, RunLifecycleEvent, TrainingStep
from mosaic.errors import RequestError, StoreError
from mosaic.logs import get_logger
from mosaic.telemetry.store.reader import StoreReader, reading

# One row may hold a whole line of the journal, which is 1 MiB.
PAGE_BYTES = 8 * 1024 * 1024


class EpisodeOrder(StrEnum):
    OLDEST = "oldest"
    NEWEST = "newest"
    BEST = "best"
    WORST = "worst"


@dataclass(frozen=True)
class Page:
    rows: tuple[dict[str, Any], ...] = ()
    next_cursor: int = 0


_EPISODE = """
    SELECT cursor, seq, timestamp, agent_id, worker_id, episode_index, total_reward, steps,
        terminated, truncated, episode_seed, metadata AS metadata_json FROM episodes
"""
_STEP = """
    SELECT cursor, seq, timestamp, agent_id, worker_id, episode_index, step_index,
        action AS action_json, observation AS observation_json, reward, terminated, truncated,
        episode_seed, render_hint AS render_hint_json, info AS info_json FROM steps
"""
# Returns that are NaN come last in both orders, equal ones in the order of the journal.
_RANKS = {
    EpisodeOrder.BEST: "total_reward IS NULL, coalesce(-total_reward, 0), cursor",
    EpisodeOrder.WORST: "total_reward IS NULL, coalesce(total_reward, 0), cursor",
}


def episode_page(
    store: StoreReader,
    order: EpisodeOrder,
    limit: int,
    after_cursor: int = 0,
    episode_index: int | None = None,
) -> Page:
    conditions, values = ["1"], []
    if episode_index is not None:
        conditions.append("episode_index = ?")
        values.append(episode_index)
    rank = _RANKS.get(order, "cursor DESC" if order is EpisodeOrder.NEWEST else "cursor")
    if after_cursor and order in _RANKS:
        conditions.append(f"({rank}) > (SELECT {rank} FROM episodes WHERE cursor = ?)")
        values.append(_episode_at(store, after_cursor))
    elif after_cursor and order is EpisodeOrder.NEWEST:
        conditions.append("cursor < ?")
        values.append(after_cursor - 1)
    elif after_cursor:
        conditions.append("cursor > ?")
        values.append(after_cursor)
    found = store.each_row(
        f"{_EPISODE} WHERE {' AND '.join(conditions)} ORDER BY {rank} LIMIT ?",
        *(*values, limit + 1),
    )
    return _page(store, found, limit, "total_reward")


def _episode_at(store: StoreReader, after_cursor: int) -> int:
    # No line is that short: only one of the two can be the cursor of an episode.
    found = store.rows(
        "SELECT cursor FROM episodes WHERE cursor IN (?, ?)", after_cursor - 1, after_cursor
    )
    if not found:
        raise RequestError(
            f"There is no episode at cursor {after_cursor}",
            hint="hand in the next_cursor of the page before",
            field="after_cursor",
        )
    return int(found[0][0])


def step_page(
    store: StoreReader,
    limit: int,
    after_cursor: int = 0,
    episode_index: int | None = None,
    attempt: int | None = None,
) -> Page:
    """Steps in the order of the journal: all, those of an attempt, or of one of its episodes.

    Without an attempt, an episode is that of the latest attempt which has it.
    """
    spans = [(0, 2**62)]
    if episode_index is not None:
        spans = episode_span(store, episode_index, attempt)
    elif attempt is not None:
        spans = _attempt_spans(store, attempt)
    start = after_cursor + 1 if after_cursor else 0
    found = (
        row
        for first, last in spans
        if last >= start
        for row in store.each_row(
            f"{_STEP} WHERE cursor BETWEEN ?1 AND ?2 AND (?3 IS NULL OR episode_index = ?3)"
            " ORDER BY cursor LIMIT ?4",
            *(max(first, start), last, episode_index, limit + 1),
        )
    )
    return _page(store, found, limit, "reward")


def episode_span(
    store: StoreReader, episode_index: int, attempt: int | None
) -> list[tuple[int, int]]:
    """Between which cursors the steps of an episode lie; empty where it has none."""
    rows = store.rows(
        "SELECT first_cursor, last_cursor FROM episode_spans"
        " WHERE episode_index = ?1 AND (?2 IS NULL OR attempt = ?2)"
        " ORDER BY first_cursor DESC LIMIT 1",
        *(episode_index, attempt),
    )
    return [tuple(row) for row in rows]


def _attempt_spans(store: StoreReader, attempt: int) -> list[tuple[int, int]]:
    """An attempt reaches from its registration to the next one, the first from the beginning."""
    starts = [(0, 1)] + [
        (row["cursor"], row["attempt"])
        for row in store.rows("SELECT cursor, attempt FROM registrations ORDER BY cursor")
    ]
    ends = [cursor - 1 for cursor, _ in starts[1:]] + [2**62]
    return [
        (first, last)
        for (first, number), last in zip(starts, ends, strict=True)
        if number == attempt
    ]


def _page(store: StoreReader, found: Iterator[sqlite3.Row], limit: int, number: str) -> Page:
    rows: list[dict[str, Any]] = []
    size = 0
    for row in found:
        if len(rows) >= limit or size >= PAGE_BYTES:
            return Page(tuple(rows), next_cursor=rows[-1]["cursor"] + 1)
        columns = dict(zip(row.keys(), row, strict=True))
        columns["agent_id"], columns["worker_id"] = store.ids(row)
        columns["episode_seed"] = str(columns["episode_seed"])
        if columns[number] is None:
            columns[number] = math.nan
        rows.append(columns)
        size += sum(len(value.encode()) for value in row if isinstance(value, str))
    return Page(tuple(rows))


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


log = get_logger(__name__)

# Hashing more would delay the record of the run's end noticeably.
MAX_ROWS = 500_000
# What depends on the machine rather than on the run.
_TIMING = re.compile(r"sps|fps|time|second|duration|per_s", re.IGNORECASE)


def metrics_digest(store_path: Path) -> str:
    """SHA-256 over episodes and metrics in order; empty for none, too many, or no store."""
    try:
        with reading(store_path) as store:
            return "" if store is None else _digest(store)
    except StoreError as error:
        log.warning("digest.skipped", store=str(store_path), error=error)
        return ""


def _digest(store: StoreReader) -> str:
    episodes, metrics = _count(store, "episodes"), _count(store, "metrics")
    if not 0 < episodes + metrics <= MAX_ROWS:
        return ""
    hasher = hashlib.sha256()
    for row in store.each_row(
        "SELECT episode_index, total_reward, steps, terminated, truncated"
        " FROM episodes ORDER BY cursor"
    ):
        hasher.update(repr(tuple(row)).encode())
    for row in store.each_row("SELECT name, step, value FROM metrics ORDER BY name, cursor"):
        if not _TIMING.search(row["name"]):
            hasher.update(repr(tuple(row)).encode())
    return hasher.hexdigest()


def _count(store: StoreReader, table: str) -> int:
    """Only as far as it matters: a plain count is one step for SQLite and cannot be interrupted."""
    ((rows,),) = store.rows(f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {MAX_ROWS + 1})")
    return int(rows)
