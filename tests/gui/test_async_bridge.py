"""What is asked in the window's thread is answered there, and never after a cancel."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

import pytest
from pytestqt.qtbot import QtBot

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.errors import MosaicError, RequestError
from mosaic.gui.services.async_bridge import AsyncBridge
from tests.gui.conftest import WAIT_MS


class FakeClient:
    async def close(self) -> None:
        pass


@pytest.fixture
def bridge(qtbot: QtBot) -> Iterator[AsyncBridge]:
    made = AsyncBridge(lambda: cast(AsyncTrainerClient, FakeClient()))
    yield made
    made.close()


def test_an_answer_arrives_in_the_windows_thread(qtbot: QtBot, bridge: AsyncBridge) -> None:
    told: list[tuple[int, threading.Thread]] = []

    async def answer(client: Any) -> int:
        assert threading.current_thread() is not threading.main_thread()
        return 7

    bridge.ask(answer, lambda value: told.append((value, threading.current_thread())))
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert told == [(7, threading.main_thread())]


def test_an_error_goes_to_who_asked_or_to_everybody(qtbot: QtBot, bridge: AsyncBridge) -> None:
    own: list[MosaicError] = []
    unclaimed: list[MosaicError] = []
    bridge.failed.connect(unclaimed.append)

    async def fail(client: Any) -> None:
        raise RequestError("no")

    async def break_down(client: Any) -> None:
        raise ZeroDivisionError("a mistake")

    bridge.ask(fail, None, own.append)
    bridge.ask(fail)
    bridge.ask(break_down, None, own.append)
    qtbot.waitUntil(lambda: len(own) == 2 and len(unclaimed) == 1, timeout=WAIT_MS)
    # Which of two answers comes first, nobody promises.
    messages = sorted(error.message for error in own)
    assert "ZeroDivisionError: a mistake" in messages[0] and messages[1] == "no"


def test_nothing_is_called_after_a_cancel(qtbot: QtBot, bridge: AsyncBridge) -> None:
    told: list[int] = []
    begun = threading.Event()

    async def answer(client: Any) -> int:
        begun.set()
        return 1

    task = bridge.ask(answer, told.append)
    assert begun.wait(WAIT_MS / 1000)
    task.cancel()  # the answer may be on its way already
    done: list[int] = []
    bridge.ask(answer, done.append)
    qtbot.waitUntil(lambda: bool(done), timeout=WAIT_MS)
    assert told == []


def test_a_stream_comes_in_batches_and_completely(qtbot: QtBot, bridge: AsyncBridge) -> None:
    batches: list[list[int]] = []
    ended: list[bool] = []

    async def stream(client: Any) -> AsyncIterator[int]:
        for number in range(1000):
            yield number
            if number % 250 == 0:
                await asyncio.sleep(0.02)

    bridge.follow(stream, batches.append, lambda: ended.append(True), batch_s=0.02)
    qtbot.waitUntil(lambda: bool(ended), timeout=WAIT_MS)
    assert [number for batch in batches for number in batch] == list(range(1000))
    assert len(batches) < 20


def test_work_that_blocks_does_not_hold_up_answers(qtbot: QtBot, bridge: AsyncBridge) -> None:
    go_on = threading.Event()
    told: list[str] = []

    def block() -> str:
        go_on.wait(WAIT_MS / 1000)
        return "work"

    async def answer(client: Any) -> str:
        return "answer"

    bridge.work(block, told.append)
    bridge.ask(answer, told.append)
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    go_on.set()
    qtbot.waitUntil(lambda: len(told) == 2, timeout=WAIT_MS)
    assert told == ["answer", "work"]


def test_closing_ends_what_is_under_way(qtbot: QtBot) -> None:
    bridge = AsyncBridge(lambda: cast(AsyncTrainerClient, FakeClient()))
    told: list[object] = []

    async def endless(client: Any) -> AsyncIterator[int]:
        while True:
            await asyncio.sleep(0.001)
            yield 1

    bridge.follow(endless, told.append)
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    bridge.close()
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("mosaic-gui")]
    assert bridge.ask(lambda client: asyncio.sleep(0), told.append).is_canceled
