"""TrainerClient: runs from a script or a notebook. Starts the daemon on demand, survives its death.

with TrainerClient() as client:
    run_id = client.start_run(config)
    record = client.wait(run_id)
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import grpc

from mosaic.client import calls
from mosaic.client.bus_methods import BusMethods
from mosaic.client.calls import Call, RunConfig
from mosaic.client.channel import Target, open_channel, trainer_stub
from mosaic.client.daemon_reach import choose_reach
from mosaic.client.export_methods import ExportMethods
from mosaic.client.history_methods import HistoryMethods
from mosaic.client.keeping_methods import KeepingMethods
from mosaic.client.log_search_methods import LogSearchMethods
from mosaic.client.patience import PAUSE_S, Patience, checked_timeout
from mosaic.client.resumable_streams import EventStream, LogStream, ResumableStream, RunWatch
from mosaic.contracts.events import MetricPoint
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_reference import choose_run, choose_runs
from mosaic.errors import TrainerUnreachableError
from mosaic.paths import Home
from mosaic.wire.answers import EventBatch, Health, LogChunk, Submission, WorkerInfo
from mosaic.wire.errors import is_connection_lost, raise_from_rpc
from mosaic.wire.server_address import TlsFiles

T = TypeVar("T")


class _Connection:
    def __init__(self, target: Target) -> None:
        self.metadata = target.metadata
        self.channel = open_channel(target)
        self.stub = trainer_stub(self.channel)


class TrainerClient(HistoryMethods, LogSearchMethods, ExportMethods, KeepingMethods, BusMethods):
    """Blocking; may be shared by threads. `AsyncTrainerClient` is its twin for asyncio."""

    def __init__(
        self,
        home: Home | Path | str | None = None,
        *,
        autostart: bool = True,
        address: str | None = None,
        token: str | None = None,
        tls: TlsFiles | None = None,
    ) -> None:
        self._reach = choose_reach(home, autostart, address, token, tls)
        self._lock = threading.Lock()
        self._connection: _Connection | None = None
        self._is_closed = False

    def __enter__(self) -> TrainerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._is_closed = True
        with self._lock:
            if self._connection is not None:
                self._connection.channel.close()
                self._connection = None

    # Runs

    def submit(
        self,
        config: RunConfig,
        client_key: str | None = None,
        dry_run: bool = False,
        consent: str | None = None,
    ) -> Submission:
        """Everything the daemon says about a submission; `start_run` when the id is enough.

        A config that somebody else wrote is sent with `consent=""`: where it would run what this
        installation does not know, ConsentError says what that is, and its `digest` in `details`
        is the `consent` for exactly that. What comes from an imported run is always asked about;
        a config you wrote needs no consent.
        """
        return self._call(calls.submit(config, client_key, dry_run, consent))

    def start_run(
        self,
        config: RunConfig,
        client_key: str | None = None,
        dry_run: bool = False,
        consent: str | None = None,
    ) -> str:
        """The id of the new run, or of the run this key has started before; "" for a dry run."""
        return self.submit(config, client_key, dry_run, consent).run_id

    def stop_run(
        self, run_id: str, reason: str = "user_cancel", grace_s: float | None = None
    ) -> RunRecord:
        return self._call(calls.cancel(run_id, reason, grace_s))

    def pause_run(self, run_id: str) -> RunRecord:
        return self._call(calls.pause(run_id))

    def unpause_run(self, run_id: str) -> RunRecord:
        return self._call(calls.unpause(run_id))

    def get_run(self, run_id: str) -> RunRecord:
        return self._call(calls.get(run_id))

    def list_runs(
        self,
        states: Iterable[str] = (),
        outcomes: Iterable[str] = (),
        contains: str = "",
        limit: int = 0,
    ) -> list[RunRecord]:
        """Newest first, without details; limit 0 means all."""
        return self._call(calls.list_runs(states, outcomes, contains, limit))

    def find_run(self, reference: str) -> RunRecord:
        """By id, part of an id, name or `latest`, or of a group with one run; raises with the
        candidates where several could be meant."""
        return self.get_run(choose_run(self.list_runs(), reference))

    def find_runs(self, reference: str) -> list[RunRecord]:
        """The same, where the name of a group means all its runs, oldest first."""
        return [self.get_run(run_id) for run_id in choose_runs(self.list_runs(), reference)]

    def control(self, run_id: str, command: dict[str, Any]) -> dict[str, Any]:
        """One line to the worker's standard input."""
        return self._call(calls.control(run_id, command))

    def wait(self, run_id: str, timeout: float | None = None) -> RunRecord:
        """The run's record once it is over; raises TimeoutError when that takes too long."""
        limit_s = checked_timeout(timeout)
        deadline = None if limit_s is None else time.monotonic() + limit_s
        for record in self._stream(RunWatch((run_id,)), deadline):
            if record.is_over:
                return self.get_run(run_id)
        raise TimeoutError(f"run {run_id} is not over after {timeout} s")

    # Streams: each goes on, without gap or repetition, when the daemon dies and comes back.

    def watch(self, run_ids: Iterable[str] = ()) -> Iterator[RunRecord]:
        """These runs (or all) as they are, then each change; never ends by itself."""
        return self._stream(RunWatch(run_ids))

    def stream_log(
        self, run_id: str, stream: str = "", tail_lines: int = 0, follow: bool = False
    ) -> Iterator[LogChunk]:
        """Output of the worker; `stream` is "stdout", "stderr" or "" for both."""
        return self._stream(LogStream(run_id, stream, tail_lines, follow))

    def stream_events(
        self, run_id: str, cursor: int = 0, types: Iterable[str] = (), follow: bool = False
    ) -> Iterator[EventBatch]:
        return self._stream(EventStream(run_id, cursor, types, follow))

    # The rest

    def recent_metrics(
        self, run_id: str, count: int = 100, names: Iterable[str] = ()
    ) -> list[MetricPoint]:
        return self._call(calls.recent_metrics(run_id, count, names))

    def workers(self, refresh: bool = False) -> list[WorkerInfo]:
        return self._call(calls.workers(refresh))

    def health(self) -> Health:
        return self._call(calls.health())

    # Plumbing

    def _call(self, call: Call[T]) -> T:
        if not call.is_repeatable:
            # Find out now that the daemon is gone, while trying again is still harmless.
            self.health()
        patience = Patience()
        while True:
            connection = self._connected(is_resuming=patience.has_lost)
            method = getattr(connection.stub, call.method)
            try:
                answer = method(call.request, timeout=call.timeout_s, metadata=connection.metadata)
            except grpc.RpcError as error:
                if not call.is_repeatable or not is_connection_lost(error):
                    raise_from_rpc(error)
                patience.lose(error)
                self._drop(connection)
                time.sleep(PAUSE_S)
            else:
                return call.decode(answer)

    def _stream(
        self, stream: ResumableStream[T], deadline: float | None = None
    ) -> Generator[T, None, None]:
        """Items until the stream ends, or until the deadline, whichever is first."""
        patience = Patience()
        while True:
            timeout_s = None if deadline is None else deadline - time.monotonic()
            if timeout_s is not None and timeout_s <= 0:
                return
            connection = self._connected(is_resuming=patience.has_lost, is_follower=True)
            messages = getattr(connection.stub, stream.method)(
                stream.request(), timeout=timeout_s, metadata=connection.metadata
            )
            try:
                for message in messages:
                    patience.restore()
                    yield from stream.accept(message)
                if not stream.is_endless:
                    return
                patience.lose()
            except grpc.RpcError as error:
                if deadline is not None and error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                    return
                patience.lose(error)
            finally:
                messages.cancel()
            self._drop(connection)
            time.sleep(PAUSE_S)

    def _connected(self, is_resuming: bool, is_follower: bool = False) -> _Connection:
        with self._lock:
            if self._is_closed:
                raise TrainerUnreachableError("This client has been closed")
            if self._connection is None:
                reach = self._reach
                target = reach.reconnect(is_follower) if is_resuming else reach.connect()
                self._connection = _Connection(target)
            return self._connection

    def _drop(self, connection: _Connection) -> None:
        with self._lock:
            # Another thread may have reconnected already. Not closed here either: others may be
            # about to use the channel, and must find a broken one, not a closed one.
            if self._connection is connection:
                self._connection = None
