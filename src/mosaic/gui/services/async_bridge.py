"""AsyncBridge: one thread that talks to the daemon; its answers arrive in the window's thread.

Every call returns at once with a Task. After `cancel` none of the task's functions is called.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal, Slot

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.errors import MosaicError
from mosaic.logs import get_logger

log = get_logger(__name__)

T = TypeVar("T")
Failed = Callable[[MosaicError], None]

# Nothing in the window changes more often than this, however much a run says.
BATCH_S = 0.1
_CLOSE_S = 5.0
_LAST_WORDS_S = 2.0


class Task:
    def __init__(self) -> None:
        self.is_canceled = False
        self._future: concurrent.futures.Future[None] | None = None

    def cancel(self) -> None:
        self.is_canceled = True
        if self._future is not None:
            self._future.cancel()

    @property
    def is_done(self) -> bool:
        return self._future is None or self._future.done()

    @property
    def future(self) -> concurrent.futures.Future[None] | None:
        return self._future

    def begin(self, future: concurrent.futures.Future[None]) -> None:
        self._future = future


class AsyncBridge(QObject):
    failed = Signal(object)  # a MosaicError nobody else takes care of
    _delivered = Signal(object)

    def __init__(self, open_client: Callable[[], AsyncTrainerClient]) -> None:
        super().__init__()
        self._open_client = open_client
        self._loop = asyncio.new_event_loop()
        self._client: AsyncTrainerClient | None = None
        self._is_closed = False
        self._last_words: list[concurrent.futures.Future[None]] = []
        self._pool = concurrent.futures.ThreadPoolExecutor(4, "mosaic-gui-work")
        self._delivered.connect(self._on_delivered, Qt.ConnectionType.QueuedConnection)
        self._thread = threading.Thread(target=self._live, name="mosaic-gui-bridge", daemon=True)
        self._thread.start()

    # What panels use, all from the window's thread

    def ask(
        self,
        request: Callable[[AsyncTrainerClient], Awaitable[T]],
        done: Callable[[T], None] | None = None,
        failed: Failed | None = None,
    ) -> Task:
        """One answer of the daemon."""

        async def work(task: Task) -> None:
            answer = await request(self._ready_client())
            self._deliver(task, done, answer)

        return self._begin(work, failed)

    def tell(self, request: Callable[[AsyncTrainerClient], Awaitable[Any]]) -> None:
        """A call that must reach the daemon even if the window closes now; nobody waits for it."""

        async def work(task: Task) -> None:
            with suppress(MosaicError):
                await request(self._ready_client())

        task = self._begin(work, None)
        if task.future is not None:
            self._last_words = [future for future in self._last_words if not future.done()]
            self._last_words.append(task.future)

    def follow(
        self,
        stream: Callable[[AsyncTrainerClient], AsyncIterator[T]],
        arrived: Callable[[list[T]], None],
        ended: Callable[[], None] | None = None,
        failed: Failed | None = None,
        batch_s: float = BATCH_S,
    ) -> Task:
        """Everything a stream has, in batches; `ended` when there is no more."""

        async def work(task: Task) -> None:
            batch: list[T] = []

            async def deliver_batches() -> None:
                while True:
                    await asyncio.sleep(batch_s)
                    if batch:
                        self._deliver(task, arrived, batch.copy())
                        batch.clear()

            delivering = asyncio.create_task(deliver_batches())
            items = stream(self._ready_client())
            try:
                async for item in items:
                    batch.append(item)
            finally:
                delivering.cancel()
                close = getattr(items, "aclose", None)
                if close is not None:
                    with suppress(MosaicError, RuntimeError):
                        await close()
            if batch:
                self._deliver(task, arrived, batch)
            if ended is not None:
                self._deliver(task, lambda _: ended(), None)

        return self._begin(work, failed)

    def work(
        self,
        function: Callable[[], T],
        done: Callable[[T], None] | None = None,
        failed: Failed | None = None,
    ) -> Task:
        """Something that blocks, in a thread of its own: files, simulators, statistics."""

        async def work(task: Task) -> None:
            answer = await self._loop.run_in_executor(self._pool, function)
            self._deliver(task, done, answer)

        return self._begin(work, failed)

    def close(self) -> None:
        """Ends everything that is under way; returns when the thread is gone."""
        if self._is_closed:
            return
        self._is_closed = True
        concurrent.futures.wait(self._last_words, _LAST_WORDS_S)
        with suppress(RuntimeError):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)
        self._pool.shutdown(wait=True, cancel_futures=True)
        if not self._thread.is_alive():
            self._loop.close()

    # The bridge's own thread

    def _live(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _end(self) -> None:
        others = asyncio.all_tasks(self._loop) - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._client is not None:
            await self._client.close()
        await self._loop.shutdown_asyncgens()

    def _ready_client(self) -> AsyncTrainerClient:
        if self._client is None:
            self._client = self._open_client()
        return self._client

    def _begin(self, work: Callable[[Task], Awaitable[None]], failed: Failed | None) -> Task:
        task = Task()
        if self._is_closed:
            task.cancel()
            return task

        async def guarded() -> None:
            try:
                await work(task)
            except MosaicError as error:
                self._deliver(task, failed or self.failed.emit, error)
            except (asyncio.CancelledError, GeneratorExit):
                raise
            except Exception as error:  # noqa: BLE001 (the root of the thread: nobody is above)
                log.error("gui.bridge_failed", error=repr(error))
                wrapped = MosaicError(
                    f"Something went wrong in the workbench: {type(error).__name__}: {error}",
                    hint="the runs are not touched by this; see the log of the workbench",
                )
                self._deliver(task, failed or self.failed.emit, wrapped)

        task.begin(asyncio.run_coroutine_threadsafe(guarded(), self._loop))
        return task

    def _deliver(self, task: Task, function: Callable[[Any], None] | None, value: Any) -> None:
        if function is not None and not self._is_closed:
            self._delivered.emit((task, function, value))

    @Slot(object)
    def _on_delivered(self, delivery: tuple[Task, Callable[[Any], None], Any]) -> None:
        task, function, value = delivery
        if not task.is_canceled and not self._is_closed:
            function(value)
