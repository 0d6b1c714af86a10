"""One number for what a run achieved: equal digests mean equal returns and metrics, bit for bit."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from mosaic.errors import StoreError
from mosaic.logs import get_logger
from mosaic.telemetry.store_reader import StoreReader, reading

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
    """No further than it matters: plain counting is one step for SQLite, which nothing can end."""
    ((rows,),) = store.rows(f"SELECT count(*) FROM (SELECT 1 FROM {table} LIMIT {MAX_ROWS + 1})")
    return int(rows)
