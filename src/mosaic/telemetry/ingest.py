"""Moves a run's journal into its store, a bounded step at a time, exactly once.

A report tells the daemon how far a step came, and what the worker announced.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from mosaic.contracts.events import EventType, RunLifecycleEvent
from mosaic.contracts.run_record import Progress
from mosaic.errors import CorruptStoreError, StoreError
from mosaic.logs import get_logger
from mosaic.telemetry.event_page import EventPage, page_of_rows
from mosaic.telemetry.journal.decoder import EventDecoder
from mosaic.telemetry.journal.reader import read_chunk
from mosaic.telemetry.store.rows import Batch
from mosaic.telemetry.store.store import TelemetryStore, is_out_of_room, set_aside


@dataclass(frozen=True)
class IngestReport:
    """What one step found. Notices are lifecycle events of the attempt that registered last, in
    their order, and of heartbeats only the last."""

    attempt: int  # as registered; 0 while nobody has
    agent_id: str
    worker_id: str
    env_id: str
    offset: int
    bytes_read: int
    has_more: bool
    events: int
    has_samples: bool
    quarantined: int
    quarantined_total: int
    progress: Progress
    notices: tuple[RunLifecycleEvent, ...] = ()
    # Everything the step has stored, for those who follow the run; only when asked for.
    page: EventPage | None = None

    @property
    def registered(self) -> dict[str, Any] | None:
        return self._payload(EventType.WORKER_REGISTERED)

    @property
    def started(self) -> dict[str, Any] | None:
        return self._payload(EventType.RUN_STARTED)

    @property
    def checkpoint(self) -> dict[str, Any] | None:
        return self._payload(EventType.CHECKPOINT_SAVED)

    @property
    def completed(self) -> dict[str, Any] | None:
        return self._payload(EventType.RUN_COMPLETED)

    @property
    def failed(self) -> dict[str, Any] | None:
        return self._payload(EventType.RUN_FAILED)

    @property
    def cancelled(self) -> dict[str, Any] | None:
        return self._payload(EventType.RUN_CANCELLED)

    @property
    def heartbeat(self) -> dict[str, Any] | None:
        return self._payload(EventType.HEARTBEAT)

    @property
    def heartbeat_at(self) -> float | None:
        notice = self._last(EventType.HEARTBEAT)
        return notice.timestamp if notice else None

    @property
    def is_paused(self) -> bool | None:
        """None when this step says nothing about it."""
        notice = self._last(EventType.RUN_PAUSED, EventType.RUN_RESUMED)
        return notice.type is EventType.RUN_PAUSED if notice else None

    def _payload(self, kind: EventType) -> dict[str, Any] | None:
        notice = self._last(kind)
        return notice.payload if notice else None

    def _last(self, *kinds: EventType) -> RunLifecycleEvent | None:
        return next((notice for notice in reversed(self.notices) if notice.type in kinds), None)


log = get_logger(__name__)

# About 5,000 steps: some 20 ms of work on an idle core.
STEP_BYTES = 1024 * 1024


class JournalIngest:
    """Ingests one run. `step` may raise StoreError (a full disk, say); then simply call it again
    later: it continues from what was committed last."""

    def __init__(self, run_id: str, journal_path: Path, store_path: Path) -> None:
        self._run_id = run_id
        self._journal_path = journal_path
        self._store_path = store_path
        self._decoder = EventDecoder(run_id)
        self._store: TelemetryStore | None = None
        self._was_rebuilt = False
        # `close` may come from another thread than `step`.
        self._lock = threading.Lock()

    def step(self, max_bytes: int = STEP_BYTES, with_page: bool = False) -> IngestReport:
        """Ingest about that many bytes of whole lines, in one transaction."""
        return self._with_store(lambda store: self._step(store, max_bytes, with_page))

    def recall(self, attempt: int) -> IngestReport:
        """What earlier steps reported of this attempt, all at once, for a daemon that starts anew.

        A daemon may die after a step has committed and before it has acted on the report.
        """
        return self._with_store(lambda store: self._recall(store, attempt))

    def close(self) -> None:
        with self._lock:
            self._close()

    def _with_store(self, work: Callable[[TelemetryStore], IngestReport]) -> IngestReport:
        with self._lock:
            try:
                try:
                    return work(self._opened())
                except CorruptStoreError as error:
                    self._start_over(error)
                    return work(self._opened())
            except StoreError as error:
                # Opened again, it stands where the last commit left it, as after a crash. On a full
                # disk it stays open: it was rolled back, and those who read the store share the
                # index of its write-ahead log, for which there is no room to make another.
                if not is_out_of_room(error):
                    self._close()
                raise

    def _step(self, store: TelemetryStore, max_bytes: int, with_page: bool) -> IngestReport:
        before = store.state
        chunk = read_chunk(self._journal_path, before.offset, max_bytes)
        if chunk.size is not None and chunk.size < before.offset:
            # A power cut took the end of the journal. New lines would get the cursors of old rows.
            raise CorruptStoreError(
                f"The store {self._store_path} reaches {before.offset}, its journal {chunk.size}"
            )
        if chunk.next_offset == before.offset:
            return _report(store)
        batch = Batch.of_chunk(chunk, self._decoder, before, store.returns)
        store.write(batch)
        return _report(
            store,
            bytes_read=chunk.next_offset - before.offset,
            has_more=chunk.next_offset < (chunk.size or 0),
            events=batch.state.events - before.events,
            has_samples=batch.has_samples,
            quarantined=batch.state.quarantined - before.quarantined,
            notices=tuple(batch.notices),
            page=page_of_rows(before.offset, chunk, batch.rows) if with_page else None,
        )

    def _recall(self, store: TelemetryStore, attempt: int) -> IngestReport:
        # A worker that never registers counts as the first attempt.
        if max(1, store.state.attempt) != attempt:
            return _report(store)
        notices = tuple(
            RunLifecycleEvent(
                self._run_id, seq, timestamp, EventType(kind), msgspec.json.decode(payload)
            )
            for seq, timestamp, kind, payload in store.read_attempt()
        )
        return _report(store, has_samples=store.state.has_samples, notices=notices)

    def _opened(self) -> TelemetryStore:
        if self._store is None:
            self._store = TelemetryStore(self._store_path, self._run_id)
        return self._store

    def _start_over(self, error: CorruptStoreError) -> None:
        self._close()
        if self._was_rebuilt:
            raise error  # it is not the file that is bad, so another one would be no better
        self._was_rebuilt = True
        kept_as = set_aside(self._store_path)
        log.warning(
            "store.rebuilt", run_id=self._run_id, reason=error.message, kept_as=str(kept_as)
        )

    def _close(self) -> None:
        if self._store is not None:
            self._store.close()
            self._store = None


def ingest_whole(
    run_id: str, journal: Path, store: Path, should_stop: Callable[[], bool] = lambda: False
) -> IngestReport | None:
    """Make the store of a run that is over from its journal; None when there was no time for it.

    Memory stays that of a single step, however long the journal is.
    """
    ingest = JournalIngest(run_id, journal, store)
    try:
        report = ingest.step()
        while report.has_more:
            if should_stop():
                return None
            report = ingest.step()
        return report
    finally:
        ingest.close()


def _report(
    store: TelemetryStore,
    *,
    bytes_read: int = 0,
    has_more: bool = False,
    events: int = 0,
    has_samples: bool = False,
    quarantined: int = 0,
    notices: tuple[RunLifecycleEvent, ...] = (),
    page: EventPage | None = None,
) -> IngestReport:
    state = store.state
    return IngestReport(
        attempt=state.attempt,
        agent_id=state.agent_id,
        worker_id=state.worker_id,
        env_id=state.env_id,
        offset=state.offset,
        bytes_read=bytes_read,
        has_more=has_more,
        events=events,
        has_samples=has_samples,
        quarantined=quarantined,
        quarantined_total=state.quarantined,
        progress=state.progress(store.returns),
        notices=notices,
        page=page,
    )
