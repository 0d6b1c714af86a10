"""A home with 10,000 runs: opening it, and listing all of them through daemon and client.

The baseline of each row is the same work done by SQLite alone, in the same run.
"""

from __future__ import annotations

import asyncio
import itertools
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

from ulid import ULID

from benchmarks.report import Report
from mosaic.contracts.run_record import Progress, RunRecord, Transition
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.daemon.registry.documents import NewRun, write_run_file
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness

RUNS = 10_000
FAILURE = FailureReason(FailureKind.EXIT_CODE, "The worker ended with exit code 3.", "", 3)


async def timed_s(call: Callable[[], Awaitable[Any]]) -> float:
    began = time.perf_counter()
    await call()
    return time.perf_counter() - began


def sample(number: int) -> NewRun:
    now = time.time()
    record = RunRecord(
        run_id=str(ULID()),
        run_name=f"run {number}",
        worker="sample",
        state=RunState.INIT,
        outcome=None,
        attempt=0,
        priority=0,
        created_at=now,
        updated_at=now,
        agent_id="agent",
        worker_id="sample",
        env_id="CartPole-v1",
        memory_mb=512,
    )
    return NewRun(record, config_digest="0" * 64)


async def live_through(registry: Registry, run_id: str, number: int) -> None:
    """All the transitions of a run, so that the registry looks like one in use."""
    states = (RunState.INIT, RunState.HSHK, RunState.RDY, RunState.EXEC)
    for index, (state, following) in enumerate(itertools.pairwise(states)):
        step = Transition(following, time.time(), "benchmark", 1)
        await registry.update(run_id, state, 1 if index else 0, transition=step)
    is_failed = number % 3 == 0
    await registry.update(
        run_id,
        RunState.EXEC,
        1,
        transition=Transition(RunState.TERM, time.time(), "over", 1),
        outcome=Outcome.FAILED if is_failed else Outcome.SUCCEEDED,
        failure=FAILURE if is_failed else None,
        progress=Progress(10_000, 10_000, 50, None, 200.0, 195.5, 5000.0),
        finished_at=time.time(),
    )


async def fill(home: Home, report: Report) -> None:
    """10,000 finished runs, written through the registry itself."""
    registry = await Registry.open(home)
    runs = [sample(number) for number in range(RUNS)]
    for run in runs:
        write_run_file(home.run(run.record.run_id), run)
    one_by_one = await timed_s(lambda: create_in_turn(registry, runs[:200]))
    at_once = await timed_s(
        lambda: asyncio.gather(*(registry.create_run(run) for run in runs[200:]))
    )
    for start in range(0, RUNS, 500):
        part = runs[start : start + 500]
        await asyncio.gather(
            *(live_through(registry, run.record.run_id, start + i) for i, run in enumerate(part))
        )
    await registry.close()
    report.add("durable creations, in turn", f"{200 / one_by_one:,.0f}/s", "")
    report.add(
        "durable creations, at once",
        f"{(RUNS - 200) / at_once:,.0f}/s",
        f"{(RUNS - 200) / at_once / (200 / one_by_one):.1f} times in turn (group commit)",
    )


async def create_in_turn(registry: Registry, runs: list[NewRun]) -> None:
    for run in runs:
        await registry.create_run(run)


def plain_sqlite_s(home: Home) -> float:
    """The same rows, fetched by SQLite into tuples and nothing more."""
    connection = sqlite3.connect(home.registry)
    began = time.perf_counter()
    connection.execute("SELECT * FROM runs ORDER BY run_id DESC").fetchall()
    took = time.perf_counter() - began
    connection.close()
    return took


def median_ms(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1e3)
    return statistics.median(times)


def main() -> None:
    report = Report("a home with 10,000 runs")
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as folder:
        daemon = DaemonHarness(Path(folder))
        daemon.home.create()
        asyncio.run(fill(daemon.home, report))
        plain_ms = plain_sqlite_s(daemon.home) * 1e3
        began = time.perf_counter()
        daemon.start()
        report.add(
            "daemon start, every row verified",
            f"{time.perf_counter() - began:.2f} s",
            "target <= 3 s",
        )
        try:
            everything = partial(daemon.client.list_runs, limit=0)
            first = median_ms(everything, 1)
            assert len(everything()) == RUNS
            again = median_ms(everything, 9)
            newest = median_ms(lambda: daemon.client.list_runs(limit=50), 9)
        finally:
            daemon.close()
    against = f"against {plain_ms:.0f} ms for SQLite alone"
    report.add("list all, first time", f"{first:.0f} ms", f"{first / plain_ms:.1f} {against}")
    report.add(
        "list all, again", f"{again:.0f} ms", f"{again / plain_ms:.1f} {against}; target <= 200 ms"
    )
    report.add("list the newest 50", f"{newest:.1f} ms", "")
    report.print()


if __name__ == "__main__":
    main()
