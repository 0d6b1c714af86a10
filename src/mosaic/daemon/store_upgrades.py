"""Brings stores of earlier versions up to date and makes unusable ones again, one after the other,
in a thread of its own.

Only stores of runs that are over: a live one is looked after by its ingest. Whoever asks meanwhile
is answered from the store as it is, which takes longer, or told that it is being made again.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from mosaic.contracts.run_files import RunFiles
from mosaic.errors import CorruptStoreError, StoreError
from mosaic.logs import get_logger
from mosaic.telemetry.ingest import ingest_whole
from mosaic.telemetry.journal_files import stored_path
from mosaic.telemetry.store import TelemetryStore, set_aside

log = get_logger(__name__)


class StoreUpgrades:
    def __init__(self, is_live: Callable[[str], bool]) -> None:
        self._is_live = is_live
        self._queue: queue.SimpleQueue[tuple[str, RunFiles]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._thread: threading.Thread | None = None

    def ask(self, run_id: str, files: RunFiles) -> None:
        """From any thread. Tried once while the daemon lives: what failed would fail again."""
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
            raise  # nothing to make it from: it stays, for whoever can still read something
        _make_again(run_id, files, error)


def _make_again(run_id: str, files: RunFiles, reason: CorruptStoreError) -> None:
    """The new store takes the place of the old one when it is complete."""
    fresh = files.telemetry.with_name(f".{files.telemetry.name}.tmp")
    for ending in ("", "-wal", "-shm"):  # left by a daemon that died here
        fresh.with_name(fresh.name + ending).unlink(missing_ok=True)
    ingest_whole(run_id, files.journal, fresh)
    kept_as = set_aside(files.telemetry)
    fresh.rename(files.telemetry)
    log.warning("store.rebuilt", run_id=run_id, reason=reason.message, kept_as=str(kept_as))
