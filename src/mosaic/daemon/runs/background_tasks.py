"""Tasks that do not depend on who asked for them.

Those nobody awaits are kept alive while they run, reported when they fail and canceled at the end.
Those a client awaits continue when the client goes away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from mosaic.logs import get_logger

log = get_logger(__name__)

T = TypeVar("T")

RESTART_S = 1.0
CLOSE_TIMEOUT_S = 5.0


class BackgroundTasks:
    def __init__(self) -> None:
        # asyncio itself keeps only weak references.
        self._tasks: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return task

    def keep_running(self, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A loop the daemon cannot do without: an unforeseen error is logged, and it continues."""

        async def again_and_again() -> None:
            while True:
                try:
                    await work()
                except Exception:
                    log.exception("loop.failed", loop=name)
                await asyncio.sleep(RESTART_S)

        self.spawn(again_and_again())

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _on_done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("task.failed", error=repr(error), task=str(task.get_coro()))


class Uninterrupted:
    """Work that changes several things one after the other.

    Without this it would be canceled in the middle when its client hangs up or loses patience.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await asyncio.shield(task)

    async def wait(self) -> None:
        """For all that is under way at this moment."""
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def close(self) -> None:
        """What is not done soon is abandoned; the next start repairs it."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=CLOSE_TIMEOUT_S)
        for task in list(self._tasks):
            task.cancel()
