"""Brings stores of earlier versions up to date, one after the other, in a thread of its own.

Only stores of runs that are over: a live one is upgraded by its ingest. Whoever asks meanwhile is
answered from the store as it is, which takes longer.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from pathlib import Path

from mosaic.errors import StoreError
from mosaic.logs import get_logger
from mosaic.telemetry.store import TelemetryStore

log = get_logger(__name__)


class StoreUpgrades:
    def __init__(self, is_live: Callable[[str], bool]) -> None:
        self._is_live = is_live
        self._queue: queue.SimpleQueue[tuple[str, Path]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._asked: set[str] = set()
        self._thread: threading.Thread | None = None

    def ask(self, run_id: str, store_path: Path) -> None:
        """From any thread. Tried once while the daemon lives: what failed would fail again."""
        with self._lock:
            if run_id in self._asked or self._is_live(run_id):
                return
            self._asked.add(run_id)
            self._queue.put((run_id, store_path))
            if self._thread is None:
                # Killed with the daemon: the transaction it was in is rolled back.
                self._thread = threading.Thread(target=self._work, name="upgrade", daemon=True)
                self._thread.start()

    def _work(self) -> None:
        while True:
            run_id, store_path = self._queue.get()
            try:
                # Deleted meanwhile? Opening would make a new one.
                if store_path.exists():
                    TelemetryStore(store_path, run_id).close()
                    log.info("store.upgraded", run_id=run_id)
            except StoreError as error:
                log.warning("store.upgrade_failed", run_id=run_id, error=error)
