"""What happens to runs, for whoever follows them: which changed, and the latest pages of events.

Both in bounded memory: a slow watcher gets changes merged, and whoever needs older pages reads the
journal.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from mosaic.telemetry.event_page import EventPage

# Over all runs, so that it is the limit however many there are. A subscriber who needs older
# pages reads the journal.
MAX_BYTES = 8 * 1024 * 1024


class RunBus:
    """Changed on the event loop; `is_followed` may be asked from any thread."""

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._pages: dict[str, deque[EventPage]] = {}
        # How far each followed run has been published, even if its pages have been dropped since.
        self._ends: dict[str, int] = {}
        # The run of every page, in order of arrival.
        self._arrivals: deque[str] = deque()
        self._followers: Counter[str] = Counter()
        self._followers_of_all = 0

    @contextmanager
    def follow(self, *run_ids: str) -> Iterator[None]:
        """Without run ids: all runs."""
        self._followers.update(run_ids)
        self._followers_of_all += not run_ids
        try:
            yield
        finally:
            self._followers -= Counter(run_ids)
            self._followers_of_all -= not run_ids
            for run_id in [*self._ends]:
                if not self.is_followed(run_id):
                    self.forget(run_id)

    def is_followed(self, run_id: str) -> bool:
        return self._followers_of_all > 0 or run_id in self._followers

    def publish(self, run_id: str, page: EventPage) -> None:
        if not self.is_followed(run_id):
            return
        if self._ends.get(run_id, page.from_cursor) != page.from_cursor:
            # Nobody followed in between, or a store is being rebuilt from the start.
            self.forget(run_id)
        self._ends[run_id] = page.next_cursor
        self._pages.setdefault(run_id, deque()).append(page)
        self._arrivals.append(run_id)
        self._size += page.size
        while self._size > self._max_bytes:
            self._drop_oldest()

    def page_at(self, run_id: str, cursor: int) -> EventPage | None:
        """The page with what comes at this cursor."""
        for page in reversed(self._pages.get(run_id, ())):
            if page.from_cursor <= cursor:
                return page if cursor < page.next_cursor else None
        return None

    def end_of(self, run_id: str) -> int | None:
        """Where the next page will begin; None when there has been none yet."""
        return self._ends.get(run_id)

    def forget(self, run_id: str) -> None:
        self._ends.pop(run_id, None)
        if run_id in self._pages:
            self._size -= sum(page.size for page in self._pages.pop(run_id))
            self._arrivals = deque(each for each in self._arrivals if each != run_id)

    def _drop_oldest(self) -> None:
        run_id = self._arrivals.popleft()
        pages = self._pages[run_id]
        self._size -= pages.popleft().size
        if not pages:
            del self._pages[run_id]


class Watcher:
    """One subscriber's set of changed runs. A set, so that it never outgrows the number of runs."""

    def __init__(self, run_ids: frozenset[str]) -> None:
        self._only = run_ids
        self._changed: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._closed = False

    def notify(self, run_id: str) -> None:
        if not self._only or run_id in self._only:
            self._changed[run_id] = None
            self._wake.set()

    def close(self) -> None:
        self._closed = True
        self._wake.set()

    async def changes(self) -> AsyncGenerator[list[str], None]:
        """Batches of changed run ids in the order of their first change; ends when closed."""
        while await self.changed():
            if batch := self.take():
                yield batch

    async def changed(self) -> bool:
        """Wait until there is something to take; False when closed."""
        if not self._closed:
            await self._wake.wait()
        return not self._closed

    def take(self) -> list[str]:
        """Runs that have changed since the last call, in the order of their first change."""
        self._wake.clear()
        batch = list(self._changed)
        self._changed.clear()
        return batch

    async def wait(self, timeout_s: float) -> None:
        """Return at the next change, or after the timeout."""
        try:
            # Not `wait_for`, which before Python 3.12 may forget that it was canceled.
            async with asyncio.timeout(timeout_s):
                await self._wake.wait()
        except TimeoutError:
            return
        self.take()


class RunFeed:
    def __init__(self) -> None:
        self._watchers: set[Watcher] = set()

    def notify(self, run_id: str) -> None:
        for watcher in self._watchers:
            watcher.notify(run_id)

    @contextmanager
    def watch(self, *run_ids: str) -> Iterator[Watcher]:
        watcher = Watcher(frozenset(run_ids))
        self._watchers.add(watcher)
        try:
            yield watcher
        finally:
            self._watchers.discard(watcher)

    def close(self) -> None:
        for watcher in list(self._watchers):
            watcher.close()
