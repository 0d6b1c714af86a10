"""What runs have stored, live or over: metrics, curves, episodes, steps, and events as a stream.

Stores are read in a few threads. Answers are bounded in rows and in bytes, so that no question can
fill the memory or a message. Stores of earlier versions are brought up to date one after the other,
in a thread of its own; whoever asks meanwhile is answered from the store as it is.
"""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.bus.run_bus import RunFeed
from mosaic.errors import ConfigError, CorruptStoreError, StoreError
from mosaic.logs import get_logger
from mosaic.paths import checked_run_id
from mosaic.telemetry.ingest import ingest_whole
from mosaic.telemetry.journal.files import stored_path
from mosaic.telemetry.journal.reader import read_raw_events
from mosaic.telemetry.queries import EpisodeOrder, Page, episode_page, step_page
from mosaic.telemetry.series import bucketed_series, metric_infos, point_series
from mosaic.telemetry.store.reader import StoreReader, reading
from mosaic.telemetry.store.store import TelemetryStore, set_aside

log = get_logger(__name__)


class StoreUpgrades:
    def __init__(self, is_live: Callable[[str], bool]) -> None:
        self._is_live = is_live
        self._queue: queue.SimpleQueue[tuple[str, RunFiles]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._thread: threading.Thread | None = None

    def ask(self, run_id: str, files: RunFiles) -> None:
        """From any thread. Tried once per daemon: what failed would fail again."""
        with self._lock:
            if run_id in self._asked or self._is_live(run_id):
                return
            self._asked.add(run_id)
            self._queue.put((run_id, files))
            if self._thread is None:
                # Killed with the daemon: the transaction it was in is rolled back.
                self._thread = threading.Thread(target=self._work, name="upgrade", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            run_id, files = self._queue.get()
            try:
                # Deleted meanwhile? Opening would make a new one.
                if files.telemetry.exists():
                    _upgrade(run_id, files)
            except (StoreError, OSError) as error:
                log.warning("store.upgrade_failed", run_id=run_id, error=error)


def _upgrade(run_id: str, files: RunFiles) -> None:
    try:
        TelemetryStore(files.telemetry, run_id).close()
        log.info("store.upgraded", run_id=run_id)
    except CorruptStoreError as error:
        if not stored_path(files.journal).exists():
            raise  # nothing to rebuild it from: it stays, in case something in it can be read
        _rebuild_store(run_id, files, error)


def _rebuild_store(run_id: str, files: RunFiles, reason: CorruptStoreError) -> None:
    """The new store takes the place of the old one when it is complete."""
    fresh = files.telemetry.with_name(f".{files.telemetry.name}.tmp")
    for ending in ("", "-wal", "-shm"):  # left by a daemon that died here
        fresh.with_name(fresh.name + ending).unlink(missing_ok=True)
    ingest_whole(run_id, files.journal, fresh)
    kept_as = set_aside(files.telemetry)
    fresh.rename(files.telemetry)
    log.warning("store.rebuilt", run_id=run_id, reason=reason.message, kept_as=str(kept_as))


T = TypeVar("T")

THREADS = 4
# More threads do not make a query over many runs faster: each row passes through the same lock.
THREADS_PER_QUERY = 2
# A message holds 16 MiB; a bucket or point has 62 bytes at most.
MAX_SERIES_ROWS = 200_000
MAX_BUCKETS = 10_000
MAX_METRICS = 100_000
MAX_METRICS_BYTES = 12 * 1024 * 1024
INFO_BYTES = 50
PAGE_ROWS = 1_000
MAX_PAGE_ROWS = 10_000
# SQLite has no larger integer; a request may.
MAX_CURSOR = 2**63 - 1


@dataclass(frozen=True)
class SeriesQuery:
    run_ids: tuple[str, ...]
    names: tuple[str, ...]
    first_step: int | None = None
    last_step: int | None = None
    buckets: int = 0  # 0: the points themselves
    after_cursor: int = 0
    limit: int = 0

    def check(self) -> None:
        for field in ("run_ids", "names"):
            if not getattr(self, field):
                raise ConfigError(f"{field} is empty", field=field, hint="name one at least")
        for run_id in self.run_ids:
            checked_run_id(run_id)
        first, last = self.first_step, self.last_step
        if first is not None and last is not None and first > last:
            raise ConfigError(
                f"first_step is {first}, which is beyond last_step {last}",
                field="first_step",
                hint="swap them",
            )
        if self.buckets > MAX_BUCKETS:
            raise ConfigError(
                f"buckets is {self.buckets}; it can be {MAX_BUCKETS} at most",
                field="buckets",
                hint="zoom in with first_step and last_step, or ask for points with buckets=0",
            )
        if self.count * max(1, self.buckets) > MAX_SERIES_ROWS:
            raise ConfigError(
                f"{self.count} series of {self.buckets or 'all'} rows are too much for one answer",
                field="run_ids",
                hint="ask for some of the runs at a time, or for fewer buckets",
            )
        if self.after_cursor and self.count > 1:
            raise ConfigError(
                "after_cursor belongs to one series, but several are asked for",
                field="after_cursor",
                hint="go on with each series by itself",
            )

    @property
    def count(self) -> int:
        return len(self.run_ids) * len(self.names)

    def answer(self, store: StoreReader, name: str) -> MetricSeries:
        if self.buckets:
            return bucketed_series(store, name, self.first_step, self.last_step, self.buckets)
        share = MAX_SERIES_ROWS // self.count
        limit = min(self.limit or share, share)
        after = min(self.after_cursor, MAX_CURSOR)
        return point_series(store, name, self.first_step, self.last_step, after, limit)


class RunHistory:
    def __init__(
        self,
        files_of: Callable[[str], RunFiles],
        summary: Callable[[str], Awaitable[RunRecord]],
        is_live: Callable[[str], bool],
    ) -> None:
        self._files_of = files_of
        self._summary = summary  # raises UnknownRunError
        self._upgrades = StoreUpgrades(is_live)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="history")

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def metrics(self, run_id: str) -> list[MetricInfo]:
        infos = await self._ask(run_id, lambda store: metric_infos(store, MAX_METRICS)) or []
        sizes = itertools.accumulate(len(info.name.encode()) + INFO_BYTES for info in infos)
        kept = sum(size <= MAX_METRICS_BYTES for size in sizes)
        if kept < len(infos) or kept == MAX_METRICS:
            log.warning("metrics.cut", run_id=run_id, listed=kept)
        return infos[:kept]

    async def series(self, question: SeriesQuery) -> list[MetricSeries]:
        """Of each run in turn, name by name; empty ones where there is nothing."""
        question.check()
        loop = asyncio.get_running_loop()
        runs = question.run_ids
        size = -(-len(runs) // THREADS_PER_QUERY)
        parts = await asyncio.gather(
            *(
                loop.run_in_executor(
                    self._threads, self._read_series, runs[start : start + size], question
                )
                for start in range(0, len(runs), size)
            )
        )
        found = []
        for run_id, answers in itertools.chain.from_iterable(parts):
            if answers is None:
                await self._summary(run_id)  # nothing stored yet, or no such run
            found += answers or [_empty_series(run_id, name) for name in question.names]
        return found

    def _read_series(
        self, run_ids: Sequence[str], question: SeriesQuery
    ) -> list[tuple[str, list[MetricSeries] | None]]:
        found: list[tuple[str, list[MetricSeries] | None]] = []
        for run_id in run_ids:
            try:
                answers = self._read(
                    run_id, lambda store: [question.answer(store, name) for name in question.names]
                )
            except StoreError as error:
                if len(question.run_ids) == 1:
                    raise
                # One damaged store must not hide the curves of all others.
                log.warning("series.skipped", run_id=run_id, error=error)
                answers = []
            found.append((run_id, answers))
        return found

    async def episodes(
        self, run_id: str, order: str, limit: int, after_cursor: int, episode_index: int | None
    ) -> tuple[Page, int]:
        """A page, and how many episodes the run has in all."""
        chosen = _order(order)
        rows = min(limit or PAGE_ROWS, MAX_PAGE_ROWS)

        def read(store: StoreReader) -> tuple[Page, int]:
            total = int(store.rows("SELECT episodes FROM ingest_state")[0][0])
            after = min(after_cursor, MAX_CURSOR)
            return episode_page(store, chosen, rows, after, episode_index), total

        return await self._ask(run_id, read) or (Page(), 0)

    async def steps(
        self,
        run_id: str,
        episode_index: int | None,
        attempt: int | None,
        after_cursor: int,
        limit: int,
    ) -> Page:
        rows, after = min(limit or PAGE_ROWS, MAX_PAGE_ROWS), min(after_cursor, MAX_CURSOR)
        return (
            await self._ask(
                run_id, lambda store: step_page(store, rows, after, episode_index, attempt)
            )
            or Page()
        )

    async def _ask(self, run_id: str, question: Callable[[StoreReader], T]) -> T | None:
        """None while the run has stored nothing."""
        await self._summary(run_id)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._read, run_id, question)

    def _read(self, run_id: str, question: Callable[[StoreReader], T]) -> T | None:
        files = self._files_of(run_id)
        try:
            with reading(files.telemetry) as store:
                if store is None:
                    return None
                answer = question(store)
                is_old = not store.is_current
        except CorruptStoreError as error:
            self._upgrades.ask(run_id, files)
            raise CorruptStoreError(
                error.message,
                hint="it is made again from the run's journal, if that is there; "
                "ask again in a moment",
            ) from error
        if is_old:
            self._upgrades.ask(run_id, files)
        return answer


def _order(text: str) -> EpisodeOrder:
    try:
        return EpisodeOrder(text or EpisodeOrder.OLDEST)
    except ValueError:
        known = ", ".join(EpisodeOrder)
        raise ConfigError(
            f"order is {text[:40]!r}", field="order", hint=f"it can be one of {known}"
        ) from None


def _empty_series(run_id: str, name: str) -> MetricSeries:
    return MetricSeries(run_id, name, (), (), (), (), (), (), (), points=0)


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
