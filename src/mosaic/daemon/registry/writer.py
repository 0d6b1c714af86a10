"""The registry's writer: one thread, one connection, many operations per transaction.

A durable commit costs a disk flush. Operations that arrive while one is going on wait for the
next, which takes all of them at once; each caller hears only after its commit. An operation that
fails is undone alone (savepoint); the others of its group are not touched.
"""

from __future__ import annotations

import queue
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, TypeVar

from mosaic.daemon.registry.rows import RunRow
from mosaic.daemon.registry.schema import error_name, store_error
from mosaic.daemon.registry.store import RegistryStore
from mosaic.errors import StoreError
from mosaic.logs import get_logger

log = get_logger(__name__)

MAX_GROUP = 512
T = TypeVar("T")
Operation = Callable[[RegistryStore], Any]


@dataclass
class _Request:
    operation: Operation
    future: Future[Any]
    result: Any = None
    error: Exception | None = None


class RegistryWriter:
    def __init__(
        self,
        connection: sqlite3.Connection,
        reconnect: Callable[[], sqlite3.Connection],
        on_changed: Callable[[RunRow], None],
    ) -> None:
        self._store = RegistryStore(connection)
        self._reconnect = reconnect
        self._on_changed = on_changed
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._is_closed = False
        self._is_broken = False
        # The newest revision that is on disk.
        self.revision: int = self._store.revision
        self._thread = threading.Thread(target=self._work, name="registry", daemon=True)
        self._thread.start()

    def submit(self, operation: Callable[[RegistryStore], T]) -> Future[T]:
        future: Future[T] = Future()
        with self._lock:
            if self._is_closed:
                future.set_exception(StoreError("The registry is closed"))
            else:
                self._requests.put(_Request(operation, future))
        return future

    def call(self, action: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Run something on the connection between transactions, such as a backup."""
        return self.submit(_Outside(action))

    def close(self) -> None:
        """Finish what was asked for, then release the file."""
        with self._lock:
            was_closed, self._is_closed = self._is_closed, True
        if not was_closed:
            self._requests.put(None)
        self._thread.join()

    def _work(self) -> None:
        is_open = True
        while is_open:
            group = [self._requests.get()]
            while len(group) < MAX_GROUP:
                try:
                    group.append(self._requests.get_nowait())
                except queue.Empty:
                    break
            is_open = None not in group
            started = [
                request
                for request in group
                if request is not None and request.future.set_running_or_notify_cancel()
            ]
            self._serve([r for r in started if not isinstance(r.operation, _Outside)])
            for request in started:
                if isinstance(request.operation, _Outside):
                    self._run(request)
                    _resolve(request)
        self._store.connection.close()

    def _serve(self, group: list[_Request]) -> None:
        if not group:
            return
        try:
            self._repair()
            self._commit(group)
        except sqlite3.Error as error:
            self._abandon(group, error)
        else:
            self.revision = self._store.revision
            for row in self._store.changed:
                self._on_changed(row)
        self._store.changed.clear()
        for request in group:
            _resolve(request)

    def _commit(self, group: list[_Request]) -> None:
        connection = self._store.connection
        connection.execute("BEGIN IMMEDIATE")
        for request in group:
            connection.execute("SAVEPOINT operation")
            changed = len(self._store.changed)
            self._run(request)
            if request.error is not None:
                if not connection.in_transaction and isinstance(request.error, sqlite3.Error):
                    raise request.error  # SQLite itself gave up the whole transaction
                connection.execute("ROLLBACK TO operation")
                del self._store.changed[changed:]
            connection.execute("RELEASE operation")
        self._store.save_counters()
        connection.execute("COMMIT")

    def _run(self, request: _Request) -> None:
        try:
            request.result = request.operation(self._store)
        except Exception as error:  # noqa: BLE001 (the caller gets it; the writer must live on)
            request.error = error

    def _abandon(self, group: list[_Request], error: sqlite3.Error) -> None:
        """The commit failed: nothing of the group is stored, and everybody is told."""
        log.error("commit.failed", cause=error_name(error), error=str(error))
        for request in group:
            if request.error is None:
                request.error = error
        # After a failed flush the connection's idea of the file cannot be trusted.
        self._is_broken = self._is_broken or error_name(error).startswith("SQLITE_IOERR")
        try:
            if not self._is_broken and self._store.connection.in_transaction:
                self._store.connection.execute("ROLLBACK")
        except sqlite3.Error:
            self._is_broken = True

    def _repair(self) -> None:
        """Open the file anew after an I/O error; raises as long as that is impossible."""
        if self._is_broken:
            self._store.connection.close()
            self._store.connection = self._reconnect()
            self._is_broken = False
            log.info("registry.reopened")


class _Outside:
    """Marks an operation that needs the bare connection, outside of any transaction."""

    def __init__(self, action: Callable[[sqlite3.Connection], Any]) -> None:
        self._action = action

    def __call__(self, store: RegistryStore) -> Any:
        return self._action(store.connection)


def _resolve(request: _Request) -> None:
    error = request.error
    if error is None:
        request.future.set_result(request.result)
    elif isinstance(error, sqlite3.Error):
        wrapped = store_error(error)
        wrapped.__cause__ = error
        request.future.set_exception(wrapped)
    else:
        request.future.set_exception(error)
