"""One thread that moves journal bytes of all live runs into their stores, and what they mean.

A thread of its own, because decoding and SQLite must not hold up the event loop. It polls file
sizes, which costs a few microseconds per live run, and sleeps for good while no run is live. What a
report means for a run is told by pure functions: events for its lifecycle, and new values for its
record.
"""

from __future__ import annotations

import asyncio
import errno
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.daemon.bus.run_bus import RunBus
from mosaic.daemon.registry.store import PROGRESS_FIELDS
from mosaic.daemon.runs.run_lifecycle import Event, Paused, Registered, Sampled, Unpaused
from mosaic.errors import CorruptStoreError, StoreError
from mosaic.logs import get_logger
from mosaic.telemetry.ingest import IngestReport, JournalIngest

log = get_logger(__name__)

POLL_S = 0.05
# A run whose store cannot be written (full disk) is left alone this long.
RETRY_S = 1.0
_NO_FILE = {errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENXIO, errno.EINVAL}

# Called on the event loop with what an ingest step found.
OnReport = Callable[[str, IngestReport], None]
# Called on the event loop when a store cannot be written (sentence), and again with "" after.
OnTrouble = Callable[[str, str], None]


class IngestLoop:
    def __init__(self, on_report: OnReport, on_trouble: OnTrouble, bus: RunBus) -> None:
        self._on_report = on_report
        self._on_trouble = on_trouble
        self._bus = bus
        self._loop = asyncio.get_running_loop()
        self._condition = threading.Condition()
        self._journals: dict[str, JournalIngest] = {}
        self._requests: list[tuple[str, Future[IngestReport]]] = []
        self._not_before: dict[str, float] = {}
        self._ending = False
        self._thread = threading.Thread(target=self._work, name="ingest", daemon=True)
        self._thread.start()

    def add(self, run_id: str, files: RunFiles) -> None:
        journal = JournalIngest(run_id, files.journal, files.telemetry)
        with self._condition:
            self._journals.setdefault(run_id, journal)
            self._condition.notify()

    async def recall(self, run_id: str, attempt: int) -> IngestReport:
        """What earlier steps, perhaps of an earlier daemon, have found of this attempt."""
        return await asyncio.to_thread(self._journals[run_id].recall, attempt)

    async def drain(self, run_id: str) -> IngestReport:
        """Ingest all that is in the journal now, close the store, forget the run."""
        future: Future[IngestReport] = Future()
        with self._condition:
            self._requests.append((run_id, future))
            self._condition.notify()
        return await asyncio.wrap_future(future)

    def forget(self, run_id: str) -> None:
        """For a run that is over, but whose journal could not be drained."""
        with self._condition:
            journal = self._journals.pop(run_id, None)
            self._not_before.pop(run_id, None)
        if journal is not None:
            journal.close()

    async def close(self) -> None:
        with self._condition:
            self._ending = True
            self._condition.notify()
        await asyncio.to_thread(self._thread.join)

    def _work(self) -> None:
        while True:
            with self._condition:
                while not (self._journals or self._requests or self._ending):
                    self._condition.wait()
                if self._ending:
                    break
                requests, self._requests = self._requests, []
                journals = list(self._journals.items())
            for run_id, future in requests:
                self._finish(run_id, future)
            is_behind = False
            for run_id, journal in journals:
                is_behind |= self._advance(run_id, journal)
            if not is_behind:
                with self._condition:
                    if not (self._requests or self._ending):
                        self._condition.wait(POLL_S)
        for journal in self._journals.values():
            journal.close()

    def _advance(self, run_id: str, journal: JournalIngest) -> bool:
        """One bounded step; True when there is more to do at once."""
        if run_id not in self._journals or time.monotonic() < self._not_before.get(run_id, 0):
            return False
        try:
            report = self._step(run_id, journal)
        except StoreError as error:
            self._not_before[run_id] = time.monotonic() + RETRY_S
            self._tell(self._on_trouble, run_id, str(error))
            return False
        if self._not_before.pop(run_id, None) is not None:
            self._tell(self._on_trouble, run_id, "")
        if report.bytes_read:
            self._tell(self._on_report, run_id, report)
        return report.has_more

    def _step(self, run_id: str, journal: JournalIngest) -> IngestReport:
        report = journal.step(with_page=self._bus.is_followed(run_id))
        if report.page is not None:
            self._tell(self._bus.publish, run_id, report.page)
        return report

    def _finish(self, run_id: str, future: Future[IngestReport]) -> None:
        journal = self._journals.get(run_id)
        if journal is None:
            future.cancel()
            return
        try:
            report = self._step(run_id, journal)
            while report.has_more:
                self._tell(self._on_report, run_id, report)
                report = self._step(run_id, journal)
        except StoreError as error:
            future.set_exception(error)
            return
        with self._condition:
            del self._journals[run_id]
        self._not_before.pop(run_id, None)
        journal.close()
        future.set_result(report)

    def _tell(self, callback: Callable[..., None], *args: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(callback, *args)


def is_lasting(error: StoreError) -> bool:
    """Waiting helps against a full disk, but not when a folder is in place of a file."""
    return isinstance(error, CorruptStoreError) or error.details.get("errno") in _NO_FILE


def events_of_report(report: IngestReport, state: RunState) -> list[Event]:
    """What happens to the run because of this report, in order."""
    events: list[Event] = []
    if state in (RunState.HSHK, RunState.RDY):
        if report.registered is not None:
            events.append(Registered())
        if report.has_samples:
            # A worker that prints samples without registering is taken at its word.
            events.extend((Registered("first sample received"), Sampled()))
    if report.is_paused is not None:
        events.append(Paused() if report.is_paused else Unpaused())
    return events


def record_changes(report: IngestReport) -> dict[str, Any]:
    """Fields of the run's record that this report makes new."""
    values: dict[str, Any] = {
        "progress": report.progress,
        "quarantined_lines": report.quarantined_total,
    }
    if report.registered is not None:
        values["capabilities"] = report.registered.get("capabilities") or {}
    if report.env_id:
        values["env_id"] = report.env_id
    if report.heartbeat_at is not None:
        values["last_heartbeat_at"] = report.heartbeat_at
    if report.checkpoint is not None:
        values["checkpoint_uri"] = str(report.checkpoint.get("path") or "")
    return values


def final_values(record: RunRecord) -> dict[str, Any]:
    """What journals have said about an attempt that is over.

    While it lives this goes to the registry in batches; at the end it must be exact, also when the
    daemon is killed right after it.
    """
    values = {name: getattr(record, name) for name in PROGRESS_FIELDS}
    if record.capabilities:
        values["capabilities"] = record.capabilities
    return {**values, "stalled": ""}
