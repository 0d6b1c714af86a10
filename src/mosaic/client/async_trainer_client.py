"""AsyncTrainerClient: the same calls as TrainerClient, for programs that live in asyncio.

async with AsyncTrainerClient() as client:
    run_id = await client.start_run(config)
    record = await client.wait(run_id)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any, TypeVar

import grpc

from mosaic.client import calls
from mosaic.client.async_bus_methods import AsyncBusMethods
from mosaic.client.async_history_methods import AsyncHistoryMethods
from mosaic.client.async_keeping_methods import AsyncKeepingMethods
from mosaic.client.calls import Call, RunConfig
from mosaic.client.channel import Target, open_async_channel, trainer_stub
from mosaic.client.daemon_reach import choose_reach
from mosaic.client.export_methods import AsyncExportMethods
from mosaic.client.log_search_methods import AsyncLogSearchMethods
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
        self.channel = open_async_channel(target)
        self.stub = trainer_stub(self.channel)


class AsyncTrainerClient(
    AsyncHistoryMethods,
    AsyncLogSearchMethods,
    AsyncExportMethods,
    AsyncKeepingMethods,
    AsyncBusMethods,
):
    """Belongs to one event loop. See `TrainerClient` for what each call means."""

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
        self._lock = asyncio.Lock()
        self._connection: _Connection | None = None
        self._is_closed = False

    async def __aenter__(self) -> AsyncTrainerClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        self._is_closed = True
        async with self._lock:
            if self._connection is not None:
                await self._connection.channel.close(None)
                self._connection = None

    # Runs

    async def submit(
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
        return await self._call(calls.submit(config, client_key, dry_run, consent))

    async def start_run(
        self,
        config: RunConfig,
        client_key: str | None = None,
        dry_run: bool = False,
        consent: str | None = None,
    ) -> str:
        """The id of the new run, or of the run this key has started before; "" for a dry run."""
        return (await self.submit(config, client_key, dry_run, consent)).run_id

    async def stop_run(
        self, run_id: str, reason: str = "user_cancel", grace_s: float | None = None
    ) -> RunRecord:
        return await self._call(calls.cancel(run_id, reason, grace_s))

    async def pause_run(self, run_id: str) -> RunRecord:
        return await self._call(calls.pause(run_id))

    async def unpause_run(self, run_id: str) -> RunRecord:
        return await self._call(calls.unpause(run_id))

    async def get_run(self, run_id: str) -> RunRecord:
        return await self._call(calls.get(run_id))

    async def list_runs(
        self,
        states: Iterable[str] = (),
        outcomes: Iterable[str] = (),
        contains: str = "",
        limit: int = 0,
    ) -> list[RunRecord]:
        """Newest first, without details; limit 0 means all."""
        return await self._call(calls.list_runs(states, outcomes, contains, limit))

    async def find_run(self, reference: str) -> RunRecord:
        """By id, part of an id, name or `latest`, or of a group with one run; raises with the
        candidates where several could be meant."""
        return await self.get_run(choose_run(await self.list_runs(), reference))

    async def find_runs(self, reference: str) -> list[RunRecord]:
        """The same, where the name of a group means all its runs, oldest first."""
        run_ids = choose_runs(await self.list_runs(), reference)
        return [await self.get_run(run_id) for run_id in run_ids]

    async def control(self, run_id: str, command: dict[str, Any]) -> dict[str, Any]:
        """One line to the worker's standard input."""
        return await self._call(calls.control(run_id, command))

    async def wait(self, run_id: str, timeout: float | None = None) -> RunRecord:
        """The run's record once it is over; raises TimeoutError when that takes too long."""
        limit_s = checked_timeout(timeout)
        try:
            async with asyncio.timeout(limit_s), aclosing(self.watch((run_id,))) as records:
                async for record in records:
                    if record.is_over:
                        break
        except TimeoutError:
            raise TimeoutError(f"run {run_id} is not over after {timeout} s") from None
        return await self.get_run(run_id)

    # Streams: each goes on, without gap or repetition, when the daemon dies and comes back.

    def watch(self, run_ids: Iterable[str] = ()) -> AsyncGenerator[RunRecord, None]:
        """These runs (or all) as they are, then each change; never ends by itself."""
        return self._stream(RunWatch(run_ids))

    def stream_log(
        self, run_id: str, stream: str = "", tail_lines: int = 0, follow: bool = False
    ) -> AsyncGenerator[LogChunk, None]:
        """Output of the worker; `stream` is "stdout", "stderr" or "" for both."""
        return self._stream(LogStream(run_id, stream, tail_lines, follow))

    def stream_events(
        self, run_id: str, cursor: int = 0, types: Iterable[str] = (), follow: bool = False
    ) -> AsyncGenerator[EventBatch, None]:
        return self._stream(EventStream(run_id, cursor, types, follow))

    # The rest

    async def recent_metrics(
        self, run_id: str, count: int = 100, names: Iterable[str] = ()
    ) -> list[MetricPoint]:
        return await self._call(calls.recent_metrics(run_id, count, names))

    async def workers(self, refresh: bool = False) -> list[WorkerInfo]:
        return await self._call(calls.workers(refresh))

    async def health(self) -> Health:
        return await self._call(calls.health())

    # Plumbing

    async def _call(self, call: Call[T]) -> T:
        if not call.is_repeatable:
            # Find out now that the daemon is gone, while trying again is still harmless.
            await self.health()
        patience = Patience()
        while True:
            connection = await self._connected(is_resuming=patience.has_lost)
            method = getattr(connection.stub, call.method)
            try:
                answer = await method(
                    call.request, timeout=call.timeout_s, metadata=connection.metadata
                )
            except grpc.RpcError as error:
                if not call.is_repeatable or not is_connection_lost(error):
                    raise_from_rpc(error)
                patience.lose(error)
                await self._drop(connection)
                await asyncio.sleep(PAUSE_S)
            else:
                return call.decode(answer)

    async def _stream(self, stream: ResumableStream[T]) -> AsyncGenerator[T, None]:
        patience = Patience()
        while True:
            connection = await self._connected(is_resuming=patience.has_lost, is_follower=True)
            messages = getattr(connection.stub, stream.method)(
                stream.request(), metadata=connection.metadata
            )
            try:
                async for message in messages:
                    patience.restore()
                    for item in stream.accept(message):
                        yield item
                if not stream.is_endless:
                    return
                patience.lose()
            except grpc.RpcError as error:
                patience.lose(error)
            finally:
                messages.cancel()
            await self._drop(connection)
            await asyncio.sleep(PAUSE_S)

    async def _connected(self, is_resuming: bool, is_follower: bool = False) -> _Connection:
        async with self._lock:
            if self._is_closed:
                raise TrainerUnreachableError("This client has been closed")
            if self._connection is None:
                # Finding or starting a daemon waits on processes: not on the event loop.
                if is_resuming:
                    target = await asyncio.to_thread(self._reach.reconnect, is_follower)
                else:
                    target = await asyncio.to_thread(self._reach.connect)
                self._connection = _Connection(target)
            return self._connection

    async def _drop(self, connection: _Connection) -> None:
        async with self._lock:
            # Another task may have reconnected already. Not closed here either: others may be
            # about to use the channel, and must find a broken one, not a closed one.
            if self._connection is connection:
                self._connection = None
