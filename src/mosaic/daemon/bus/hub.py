"""The hub: checks what a subscriber asks for, and lets it follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from mosaic.contracts.events import EventType
from mosaic.daemon.bus.run_bus import RunBus
from mosaic.daemon.bus.subscription import FindRun, JournalOf, Subscription, Wish
from mosaic.daemon.streams.run_feed import RunFeed
from mosaic.errors import ConfigError
from mosaic.telemetry.journal_extent import journal_extent


class Hub:
    def __init__(
        self,
        bus: RunBus,
        feed: RunFeed,
        find_run: FindRun,
        unfinished: Callable[[], Iterable[str]],
        journal_of: JournalOf,
    ) -> None:
        self._bus = bus
        self._feed = feed
        self._find_run = find_run
        self._unfinished = unfinished
        self._journal_of = journal_of

    @asynccontextmanager
    async def subscribe(self, wish: Wish) -> AsyncIterator[Subscription]:
        check_wish(wish)
        for run_id in {*wish.run_ids, *wish.cursors}:
            await self._find_run(run_id)  # refuses what is no run
        # Followed first: what happens while the starts are looked up is not missed.
        with self._bus.follow(*wish.run_ids), self._feed.watch(*wish.run_ids) as watcher:
            starts = await self._starts(wish)
            yield Subscription(wish, starts, self._bus, watcher, self._find_run, self._journal_of)

    async def _starts(self, wish: Wish) -> dict[str, int]:
        run_ids = wish.run_ids or (*wish.cursors, *self._unfinished())
        starts = {}
        for run_id in dict.fromkeys(run_ids):
            extent = await asyncio.to_thread(journal_extent, self._journal_of(run_id))
            cursor = wish.cursors.get(run_id, extent.lines_end)
            if cursor > extent.size:
                raise ConfigError(
                    f"Cursor {cursor} lies beyond the run's journal of {extent.size} bytes",
                    hint="leave it out to start with what happens now, or pass 0 for everything",
                    field=f"cursors.{run_id}",
                )
            starts[run_id] = cursor
        return starts


def check_wish(wish: Wish) -> None:
    known = frozenset(EventType)
    for name in sorted(wish.types - known):
        raise ConfigError(
            f"{name!r} is not a type of event",
            hint=f"one of {', '.join(EventType)}",
            field="types",
        )
    for run_id in wish.cursors:
        if wish.run_ids and run_id not in wish.run_ids:
            raise ConfigError(
                f"There is a cursor for the run {run_id!r}, which is not asked for",
                hint="name it in run_ids, too, or leave run_ids empty for all runs",
                field=f"cursors.{run_id}",
            )
