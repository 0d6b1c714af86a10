from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from mosaic.client.calls import Call
from mosaic.client.export_rows import CallFunction
from mosaic.client.exporting import run_in_thread

CALL: Call[int] = Call("Anything", None, int)


class Client:
    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []

    async def _call(self, call: Call[Any]) -> Any:
        self.threads.append(threading.current_thread())
        await asyncio.sleep(0)
        return 7


async def test_work_blocks_beside_the_loop_and_its_calls_are_made_on_it() -> None:
    client = Client()

    def work(ask: CallFunction) -> tuple[int, bool]:
        return ask(CALL) + ask(CALL), threading.current_thread() is threading.main_thread()

    assert await run_in_thread(client, work) == (14, False)
    assert set(client.threads) == {threading.main_thread()}


async def test_an_error_of_the_work_comes_out() -> None:
    def work(ask: CallFunction) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await run_in_thread(Client(), work)


async def test_work_that_nobody_awaits_any_more_ends_with_its_next_question() -> None:
    began, tidied_up = threading.Event(), threading.Event()

    def work(ask: CallFunction) -> None:
        try:
            while True:
                ask(CALL)
                began.set()
        finally:
            tidied_up.set()

    task = asyncio.create_task(run_in_thread(Client(), work))
    assert await asyncio.to_thread(began.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(tidied_up.wait, 5)
