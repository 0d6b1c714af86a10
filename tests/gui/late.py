"""What arrives in the window from elsewhere comes late, by chance: nothing may depend on it.

With `MOSAIC_TEST_LATE` set to a seed, requests leave for the daemon a little later than they were
made, and answers, pictures, simulators' news and the ends of processes come a little after they
were due; some of them much later. What one source tells keeps its order, as it does in truth, and
the window's thread never waits: it has time to do something else first.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from PySide6.QtCore import QObject, QTimer

from mosaic.errors import MosaicError
from mosaic.gui.live.frame_reader import FrameReader
from mosaic.gui.live.natural_reader import NaturalReader
from mosaic.gui.replay.episode_source import EpisodeSource
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.services.async_bridge import AsyncBridge, Failed, Task
from mosaic.gui.services.unexpected_errors import UnexpectedErrors
from mosaic.gui.wandb.sync_box import WandbSyncBox

_SHORT_S, _LONG_S = 0.05, 0.6
_AT_ONCE, _LONG = 0.2, 0.1  # this part of all arrivals

# Slots that are called from elsewhere; those in one line are called by one source, in order.
_SLOTS: tuple[tuple[type[QObject], tuple[str, ...]], ...] = (
    (FrameReader, ("_on_ready",)),
    (NaturalReader, ("_on_ready",)),
    (NaturalReader, ("_ask", "_give_up")),
    (EpisodeSource, ("_on_told",)),
    (EpisodeSource, ("_on_looked",)),
    (ReplayPage, ("_on_done",)),
    (WandbSyncBox, ("_on_finished", "_on_error")),
    (UnexpectedErrors, ("_tell",)),
)

Begin = Callable[[AsyncBridge, Callable[[Task], Awaitable[None]], Failed | None], Task]
Deliver = Callable[[AsyncBridge, Task, Callable[[Any], None] | None, Any], None]


class Chance:
    """How late something is: usually a little, sometimes much."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def seconds(self) -> float:
        kind = self._random.random()
        if kind < _AT_ONCE:
            return 0.0
        return self._random.uniform(0, _LONG_S if kind > 1 - _LONG else _SHORT_S)

    def another(self) -> Chance:
        """For another thread, so that each has the same whatever the others do."""
        return Chance(str(self._random.random()))


class Lateness:
    def __init__(self, seed: str) -> None:
        self._seed = seed
        self.chance = Chance(seed)

    def begin_test(self, name: str) -> None:
        """The same delays for a test whether others ran before it or not."""
        self.chance = Chance(f"{self._seed} {name}")

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for kind, names in _SLOTS:
            line = _Line(self)
            for name in names:
                patch.setattr(kind, name, _late_slot(getattr(kind, name), line))
        carriers = _Carriers(self, AsyncBridge._begin, AsyncBridge._deliver)
        patch.setattr(AsyncBridge, "_begin", carriers.replaced_begin())
        patch.setattr(AsyncBridge, "_deliver", carriers.replaced_deliver())


# Slots of the window


class _Line:
    """Nothing in it is overtaken by something else for the same receiver."""

    def __init__(self, lateness: Lateness) -> None:
        self._lateness = lateness
        self._waiting: WeakKeyDictionary[QObject, deque[Callable[[], None]]] = WeakKeyDictionary()

    def put(self, receiver: QObject, arrive: Callable[[], None]) -> None:
        """Never called, as by a signal, when there is no receiver any more."""
        waiting = self._waiting.setdefault(receiver, deque())
        waiting.append(arrive)
        milliseconds = round(1000 * self._lateness.chance.seconds())
        QTimer.singleShot(milliseconds, receiver, lambda: waiting.popleft()())


def _late_slot(slot: Callable[..., None], line: _Line) -> Callable[..., None]:
    taken = len(inspect.signature(slot).parameters) - 1  # a signal may have more to tell

    @functools.wraps(slot)
    def late(receiver: QObject, *values: object) -> None:
        line.put(receiver, lambda: slot(receiver, *values[:taken]))

    return late


# Answers of the daemon, and of work in threads


class _Carriers:
    """A request leaves no earlier than those before it; answers overtake each other.

    They are late before they reach the bridge, for what has reached it is in order.
    """

    def __init__(self, lateness: Lateness, begin: Begin, deliver: Deliver) -> None:
        self._lateness, self._begin, self._deliver = lateness, begin, deliver
        self._last: WeakKeyDictionary[AsyncBridge, float] = WeakKeyDictionary()
        self._carried: WeakKeyDictionary[Task, asyncio.Queue[Any]] = WeakKeyDictionary()

    def replaced_begin(self) -> Begin:
        @functools.wraps(self._begin)
        def late(
            bridge: AsyncBridge, work: Callable[[Task], Awaitable[None]], failed: Failed | None
        ) -> Task:
            chance = self._lateness.chance.another()
            due = max(time.monotonic() + chance.seconds(), self._last.get(bridge, 0.0) + 1e-6)
            self._last[bridge] = due

            async def carried(task: Task) -> None:
                await _until(due)
                queue = self._carried[task] = asyncio.Queue[Any]()
                carrying = asyncio.create_task(self._carry(bridge, task, queue, chance))
                try:
                    await work(task)
                    await queue.put(None)
                    await carrying
                except MosaicError:
                    await queue.put(None)
                    await carrying
                    await asyncio.sleep(chance.seconds())
                    raise
                finally:
                    carrying.cancel()
                    del self._carried[task]

            return self._begin(bridge, carried, failed)

        return late

    def replaced_deliver(self) -> Deliver:
        @functools.wraps(self._deliver)
        def late(
            bridge: AsyncBridge, task: Task, function: Callable[[Any], None] | None, value: Any
        ) -> None:
            queue = self._carried.get(task)
            if queue is None:
                self._deliver(bridge, task, function, value)
            else:
                queue.put_nowait((function, value))

        return late

    async def _carry(
        self, bridge: AsyncBridge, task: Task, queue: asyncio.Queue[Any], chance: Chance
    ) -> None:
        while (delivery := await queue.get()) is not None:
            await asyncio.sleep(chance.seconds())
            self._deliver(bridge, task, *delivery)


async def _until(due: float) -> None:
    """Called in the order of what is due, which sleeping until then would not promise."""
    is_due = asyncio.Event()
    timer = asyncio.get_running_loop().call_at(due, is_due.set)
    try:
        await is_due.wait()
    finally:
        timer.cancel()
