"""When journals are packed: after the end of their runs, and never while an archive is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mosaic.contracts.run_state import RunState
from mosaic.daemon.bus.run_bus import RunFeed
from mosaic.daemon.keeping import journal_packer
from mosaic.daemon.keeping.journal_packer import JournalPacker
from mosaic.errors import StoreError, UnknownRunError
from mosaic.paths import Home
from mosaic.telemetry.journal.files import packed_path
from mosaic.telemetry.journal.packing import packed_copy
from tests import journal_lines as lines
from tests.unit.export.run_rows_samples import record

FIRST, SECOND = lines.RUN_ID, lines.OTHER_RUN_ID


class Runs:
    """What the packer asks of the registry and the supervisor."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.moving = asyncio.Lock()
        self.archiving: list[str] = []
        self.feed = RunFeed()
        self.supervisor = SimpleNamespace(feed=self.feed, active={})
        self.registry = self
        self.over: dict[str, bool] = {}

    def add(self, run_id: str, is_over: bool) -> Path:
        journal = self.home.run(run_id).journal
        journal.parent.mkdir(parents=True)
        journal.write_bytes(lines.registered() + b"".join(map(lines.step, range(1, 1000))))
        self.over[run_id] = is_over
        return journal

    async def list(self, chosen: Any) -> tuple[list[Any], int]:
        assert chosen.states == (RunState.TERM,)
        over = [record(run_id=run_id) for run_id, is_over in self.over.items() if is_over]
        return over, len(over)

    async def get(self, run_id: str) -> Any:
        if run_id not in self.over:
            raise UnknownRunError(run_id)
        state = RunState.TERM if self.over[run_id] else RunState.EXEC
        return record(run_id=run_id, state=state)


@pytest.fixture
async def runs(tmp_path: Path) -> AsyncIterator[Runs]:
    yield Runs(Home(tmp_path))


@pytest.fixture
async def serve(runs: Runs) -> AsyncIterator[Callable[[], None]]:
    kept_runs: Any = runs
    packer = JournalPacker(kept_runs)
    tasks: list[asyncio.Task[None]] = []
    yield lambda: tasks.append(asyncio.create_task(packer.serve()))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await packer.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def is_packed(journal: Path) -> bool:
    return packed_path(journal).exists() and not journal.exists()


async def test_runs_are_packed_at_the_start_and_when_they_end(
    runs: Runs, serve: Callable[[], None]
) -> None:
    ended, going_on = runs.add(FIRST, True), runs.add(SECOND, False)
    serve()
    await until(lambda: is_packed(ended))
    runs.feed.notify(SECOND)
    runs.feed.notify("01JQ0000000000000000000009")  # deleted meanwhile
    await asyncio.sleep(0.05)
    assert going_on.exists() and not packed_path(going_on).exists()
    runs.over[SECOND] = True
    runs.feed.notify(SECOND)
    await until(lambda: is_packed(going_on))


async def test_an_active_run_is_judged_without_the_registry(
    runs: Runs, serve: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = runs.add(FIRST, False)
    active = SimpleNamespace(record=record(state=RunState.EXEC))
    runs.supervisor.active[FIRST] = active
    monkeypatch.setattr(runs, "get", None)
    serve()
    await asyncio.sleep(0.02)
    runs.feed.notify(FIRST)
    await asyncio.sleep(0.02)
    assert journal.exists()
    active.record = record(state=RunState.TERM)
    runs.feed.notify(FIRST)
    await until(lambda: is_packed(journal))


async def test_an_archive_finds_the_files_that_it_has_listed(
    runs: Runs, serve: Callable[[], None]
) -> None:
    journal, other = runs.add(FIRST, True), runs.add(SECOND, False)
    runs.archiving.append(FIRST)
    serve()
    await asyncio.sleep(0.1)
    assert journal.exists() and not packed_path(journal).exists()
    runs.archiving.clear()
    runs.over[SECOND] = True
    runs.feed.notify(SECOND)  # the next run that ends takes the postponed one along
    await until(lambda: is_packed(journal) and is_packed(other))


async def test_what_is_being_moved_is_waited_for(runs: Runs, serve: Callable[[], None]) -> None:
    journal = runs.add(FIRST, True)
    async with runs.moving:
        serve()
        await asyncio.sleep(0.1)
        assert journal.exists()
    await until(lambda: is_packed(journal))


async def test_one_that_cannot_be_packed_does_not_keep_the_others(
    runs: Runs, serve: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad, good = runs.add(FIRST, True), runs.add(SECOND, True)

    def refusing(journal: Path, should_stop: Callable[[], bool]) -> Any:
        if journal == bad:
            raise StoreError("no room")
        return packed_copy(journal, should_stop)

    monkeypatch.setattr(journal_packer, "packed_copy", refusing)
    serve()
    await until(lambda: is_packed(good))
    assert bad.exists()
