"""Loops the daemon cannot do without survive their own errors; everything ends at close."""

from __future__ import annotations

import asyncio

import pytest

from mosaic.daemon.runs import background_tasks
from mosaic.daemon.runs.background_tasks import BackgroundTasks


async def test_a_loop_that_fails_is_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background_tasks, "RESTART_S", 0)
    tasks = BackgroundTasks()
    starts = 0
    enough = asyncio.Event()

    async def fragile() -> None:
        nonlocal starts
        starts += 1
        if starts == 3:
            enough.set()
        raise TypeError("unforeseen")

    tasks.keep_running("fragile", fragile)
    await asyncio.wait_for(enough.wait(), 5)
    await tasks.close()


async def test_closing_cancels_what_still_runs() -> None:
    tasks = BackgroundTasks()
    task = tasks.spawn(asyncio.sleep(3600))
    await tasks.close()
    assert task.cancelled()


async def test_a_failed_task_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    async def fail() -> None:
        raise ValueError("broken")

    tasks = BackgroundTasks()
    await asyncio.wait([tasks.spawn(fail())])
    await asyncio.sleep(0)
    assert "task.failed" in caplog.messages
