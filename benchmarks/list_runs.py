"""Measures the registry: creating runs, listing 10,000 of them, opening and saving such a registry.

    python benchmarks/list_runs.py [--runs 10000]

Prints one JSON object. `calibration_ms` is a fixed loop on this machine at this moment: compare
ratios to it, not milliseconds of different machines.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from ulid import ULID

from mosaic.contracts.run_record import Progress, RunRecord, Transition
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome, RunState
from mosaic.daemon.registry.registry import NewRun, Registry, RunFilter
from mosaic.daemon.registry.run_file import write_run_file
from mosaic.paths import Home

FAILURE = FailureReason(FailureKind.EXIT_CODE, "The worker ended with exit code 3.", "", 3)


def calibration_ms() -> float:
    began = time.perf_counter()
    total = 0
    for number in range(1_000_000):
        total += number
    return (time.perf_counter() - began) * 1000


async def timed_ms(call: Callable[[], Awaitable[Any]], repeats: int = 1) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        await call()
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


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


async def measure(home: Home, count: int) -> dict[str, float]:
    results: dict[str, float] = {"runs": count, "calibration_ms": calibration_ms()}
    registry = await Registry.open(home)
    runs = [sample(number) for number in range(count)]
    for run in runs:
        write_run_file(home.run(run.record.run_id), run)

    async def one_by_one() -> None:
        for run in runs[:200]:
            await registry.create_run(run)

    async def at_once() -> None:
        await asyncio.gather(*(registry.create_run(run) for run in runs[200:]))

    results["creates_per_s_one_by_one"] = 200 / (await timed_ms(one_by_one)) * 1000
    results["creates_per_s_at_once"] = (count - 200) / (await timed_ms(at_once)) * 1000
    for start in range(0, count, 500):
        part = runs[start : start + 500]
        await asyncio.gather(
            *(live_through(registry, run.record.run_id, start + i) for i, run in enumerate(part))
        )
    results["list_first_ms"] = await timed_ms(registry.list)
    results["list_again_ms"] = await timed_ms(registry.list, 15)
    results["list_50_ms"] = await timed_ms(lambda: registry.list(RunFilter(limit=50)), 15)
    results["list_containing_ms"] = await timed_ms(
        lambda: registry.list(RunFilter(contains="RUN 77")), 15
    )
    results["get_ms"] = await timed_ms(lambda: registry.get(runs[7].record.run_id), 50)
    some = [run.record for run in runs[:64]]
    results["progress_of_64_ms"] = await timed_ms(lambda: registry.update_progress(some), 15)
    results["backup_ms"] = await timed_ms(registry.backup)
    await registry.close()

    async def reopen() -> None:
        await (await Registry.open(home)).close()

    results["open_ms"] = await timed_ms(reopen, 3)
    home.registry.write_bytes(b"garbage")
    results["open_damaged_with_backup_ms"] = await timed_ms(reopen)
    home.registry.unlink()
    home.registry_backup.unlink()
    results["rebuild_from_directories_ms"] = await timed_ms(reopen)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as folder:
        home = Home(Path(folder))
        home.create()
        results = asyncio.run(measure(home, max(201, arguments.runs)))
    print(json.dumps({name: round(value, 2) for name, value in results.items()}, indent=2))


if __name__ == "__main__":
    main()
