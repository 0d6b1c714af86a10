"""Tells watchers which runs have changed, in bounded memory: a slow watcher gets changes merged."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager


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
            await asyncio.wait_for(self._wake.wait(), timeout_s)
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
