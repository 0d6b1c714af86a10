"""Streams a run's events from its journal, from any cursor, without gap.

Every subscriber reads the file at its own pace: a hung one costs nothing but its open stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from mosaic.daemon.streams.run_feed import RunFeed
from mosaic.telemetry.journal_reader import read_raw_events

POLL_S = 0.2


async def stream_events(
    run_id: str,
    journal: Path,
    cursor: int,
    types: frozenset[str],
    is_over: Callable[[], bool],
    feed: RunFeed,
) -> AsyncIterator[tuple[list[bytes], int]]:
    """(events, next cursor) until the journal is read and `is_over` says nothing more will come."""
    with feed.watch(run_id) as watcher:
        while True:
            # Asked before reading: what is written before the end is read after this look.
            was_over = is_over()
            events, next_cursor = await asyncio.to_thread(read_raw_events, journal, cursor, types)
            if events or next_cursor != cursor:
                cursor = next_cursor
                if events:
                    yield events, cursor
            elif was_over:
                return
            else:
                await watcher.wait(POLL_S)
