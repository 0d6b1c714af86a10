"""The hub: checks what a subscriber asks for, and lets it follow its runs.

A subscriber follows them on the bus, or in their journals where it is behind.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mosaic.contracts.events import EventType
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.bus.flow import CreditBalance, Delivery, RunFlow
from mosaic.daemon.bus.run_bus import RunBus, RunFeed, Watcher
from mosaic.errors import ConfigError, UnknownRunError
from mosaic.telemetry.event_page import EventPage, read_page
from mosaic.telemetry.journal.reader import journal_extent

FindRun = Callable[[str], Awaitable[RunRecord]]
JournalOf = Callable[[str], Path]


@dataclass(frozen=True)
class SubscriptionRequest:
    """What a subscriber asked for. Without run ids: all runs, also those to come."""

    run_ids: tuple[str, ...] = ()
    types: frozenset[str] = frozenset()
    cursors: Mapping[str, int] = field(default_factory=dict)
    credits: int = 0
    lossless: bool = False


class Subscription:
    """Reads at most one page at a time, so what it holds is bounded whatever its client does."""

    def __init__(
        self,
        request: SubscriptionRequest,
        starts: Mapping[str, int],
        bus: RunBus,
        watcher: Watcher,
        find_run: FindRun,
        journal_of: JournalOf,
    ) -> None:
        self._request = request
        self._bus = bus
        self._watcher = watcher
        self._find_run = find_run
        self._journal_of = journal_of
        self._began = time.time()
        self._balance = CreditBalance(request.credits)
        self._flows = {run_id: self._flow(cursor) for run_id, cursor in starts.items()}
        # Whichever has waited longest for credits comes first.
        self._starved: dict[str, None] = {}
        # Those that are over for this subscriber; late events must not start them again.
        self._ended: set[str] = set()

    def grant(self, credits: int) -> None:
        self._balance.add(credits)
        for run_id in self._starved:
            self._watcher.notify(run_id)

    async def deliveries(self) -> AsyncGenerator[tuple[str, Delivery], None]:
        """(run id, delivery) until all runs that were asked for are over, or the daemon ends."""
        for run_id, begun in self._flows.items():
            # Where it begins: with this a client can continue even if nothing else arrives.
            yield run_id, Delivery((), begun.position)
        # Runs to look at, in turn: a long backlog of one does not delay the others.
        waiting = dict.fromkeys(self._flows)
        while self._flows or not self._request.run_ids:
            waiting |= dict.fromkeys(self._watcher.take())
            if not (waiting or self._can_resume):
                if not await self._watcher.changed():
                    return
                continue
            run_id = self._choose(waiting)
            waiting.pop(run_id, None)
            flow = await self._flow_of(run_id)
            if flow is None:
                continue
            if resumed := flow.resume():
                self._starved.pop(run_id, None)
            for delivery in resumed:
                yield run_id, delivery
            page, is_over = await self._next_page(run_id, flow.position)
            if page is not None:
                waiting[run_id] = None
                for delivery in flow.take(page):
                    yield run_id, delivery
            if flow.is_starved:
                self._starved.setdefault(run_id)
            elif page is None and is_over:
                del self._flows[run_id]
                self._ended.add(run_id)
                yield run_id, flow.end()

    def _choose(self, waiting: dict[str, None]) -> str:
        """New credits go first to the run that has waited longest for them."""
        return next(iter(self._starved if self._can_resume else waiting))

    @property
    def _can_resume(self) -> bool:
        return bool(self._starved) and self._balance.credits > 0

    async def _next_page(self, run_id: str, cursor: int) -> tuple[EventPage | None, bool]:
        """The page at the cursor, and whether the run was over before we looked for one."""
        page = self._bus.page_at(run_id, cursor)
        if page is not None:
            return page, False
        is_over = await self._is_over(run_id)
        end = self._bus.end_of(run_id)
        if not is_over and end is not None and cursor >= end:
            return None, False  # up to date; the next page will tell
        journal = self._journal_of(run_id)
        return await asyncio.to_thread(read_page, journal, run_id, cursor), is_over

    async def _is_over(self, run_id: str) -> bool:
        try:
            return (await self._find_run(run_id)).is_over
        except UnknownRunError:
            return True  # deleted, so it was over

    async def _flow_of(self, run_id: str) -> RunFlow | None:
        flow = self._flows.get(run_id)
        if flow is None and run_id not in self._ended and await self._is_new(run_id):
            flow = self._flows[run_id] = self._flow(0)
        return flow

    async def _is_new(self, run_id: str) -> bool:
        """Changes of a run that was over before we began do not count."""
        try:
            record = await self._find_run(run_id)
        except UnknownRunError:
            return False
        return not record.is_over or record.created_at >= self._began

    def _flow(self, cursor: int) -> RunFlow:
        return RunFlow(cursor, self._balance, self._request.types, self._request.lossless)


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
    async def subscribe(self, request: SubscriptionRequest) -> AsyncIterator[Subscription]:
        check_request(request)
        for run_id in {*request.run_ids, *request.cursors}:
            await self._find_run(run_id)  # refuses anything but a run
        # Followed first: what happens while the starts are looked up is not missed.
        with self._bus.follow(*request.run_ids), self._feed.watch(*request.run_ids) as watcher:
            starts = await self._starts(request)
            yield Subscription(
                request, starts, self._bus, watcher, self._find_run, self._journal_of
            )

    async def _starts(self, request: SubscriptionRequest) -> dict[str, int]:
        run_ids = request.run_ids or (*request.cursors, *self._unfinished())
        starts = {}
        for run_id in dict.fromkeys(run_ids):
            extent = await asyncio.to_thread(journal_extent, self._journal_of(run_id))
            cursor = request.cursors.get(run_id, extent.lines_end)
            if cursor > extent.size:
                raise ConfigError(
                    f"Cursor {cursor} lies beyond the run's journal of {extent.size} bytes",
                    hint="leave it out to start with what happens now, or pass 0 for everything",
                    field=f"cursors.{run_id}",
                )
            starts[run_id] = cursor
        return starts


def check_request(request: SubscriptionRequest) -> None:
    known = frozenset(EventType)
    for name in sorted(request.types - known):
        raise ConfigError(
            f"{name!r} is not a type of event",
            hint=f"one of {', '.join(EventType)}",
            field="types",
        )
    for run_id in request.cursors:
        if request.run_ids and run_id not in request.run_ids:
            raise ConfigError(
                f"There is a cursor for the run {run_id!r}, which is not asked for",
                hint="name it in run_ids, too, or leave run_ids empty for all runs",
                field=f"cursors.{run_id}",
            )
