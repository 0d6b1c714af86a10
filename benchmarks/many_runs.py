"""Opening many runs and asking for their curves, against TensorBoard's loader and tbparse.

    python -m benchmarks.many_runs [--runs 50] [--scalars 100000] [--baseline-runs 2] [--json]

Every run has the same number of scalars, spread over ten metrics. What is asked is what a chart of
all runs needs: the list of runs, then one curve of each, in as many stretches as it has pixels.

- ours, through the daemon: `list_runs` and `series`, as the workbench asks;
- ours, files only: `ScalarReader` on TensorBoard event files that hold the same scalars;
- EventAccumulator (TensorBoard's own loader, as TensorBoard sets it up) and tbparse on the same
  files. Both read a file from end to end before they can answer, so they are measured on a few
  runs (`--baseline-runs`) and compared per run.

A few journals are written through the SDK and ingested as the daemon does it; the stores of the
other runs are copies of those. All files are in the page cache, for all contenders.

For 1,000 runs of 100,000 scalars (6 GB below $TMPDIR, deleted afterwards):

    python -m benchmarks.many_runs --runs 1000
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.list_runs import live_through, sample
from benchmarks.report import Report
from cleanrl_worker.kit.writers.tensorboard import TensorBoardWriter
from mosaic.analytics.tensorboard.reader import ScalarReader
from mosaic.daemon.registry.documents import write_run_file
from mosaic.daemon.registry.registry import Registry
from mosaic.paths import Home
from mosaic.telemetry.ingest import JournalIngest
from mosaic.worker.assignment import Assignment
from mosaic.worker.event_writer import EventWriter
from mosaic.worker.journal import Journal
from tests.daemon_harness import DaemonHarness

METRICS = tuple(f"metric/{number}" for number in range(10))
ASKED = METRICS[3]
DISTINCT_STORES = 4
BUCKETS = 200  # for a chart of many runs
CLOSE_LOOK_BUCKETS = 1000
TARGET_S = 2.0


@dataclass(frozen=True)
class Figures:
    runs: int
    scalars: int
    baseline_runs: int
    store_bytes_per_run: float
    list_s: float
    one_curve_of_each_s: float
    ten_curves_of_one_s: float
    scalar_reader_s_per_run: float
    event_accumulator_s_per_run: float
    tbparse_s_per_run: float

    @property
    def ours_s_per_run(self) -> float:
        return (self.list_s + self.one_curve_of_each_s) / self.runs


def value_at(seed: int, metric: int, step: int) -> float:
    return math.sin(step / 700 + seed) * (metric + 1) + (step * 7919 + seed) % 101 / 100


def write_journal(path: Path, run_id: str, seed: int, scalars: int) -> None:
    journal = Journal(path)
    writer = EventWriter(journal, Assignment(run_id, "agent_0", "bench"))
    for step in range(scalars // len(METRICS)):
        for metric, name in enumerate(METRICS):
            writer.metric(name, value_at(seed, metric, step), step)
    journal.close()


def write_event_file(folder: Path, seed: int, scalars: int) -> None:
    writer = TensorBoardWriter(folder)
    for step in range(scalars // len(METRICS)):
        for metric, name in enumerate(METRICS):
            writer.scalar(name, value_at(seed, metric, step), step)
    writer.close()


def ingest(run_id: str, journal: Path, store: Path) -> None:
    ingesting = JournalIngest(run_id, journal, store)
    while ingesting.step().has_more:
        pass
    ingesting.close()


async def fill(home: Home, runs: int, scalars: int) -> float:
    """Registers the runs and gives each its store; returns the mean size of a store."""
    registry = await Registry.open(home)
    stores: list[Path] = []
    for number in range(runs):
        run = sample(number)
        run_id = run.record.run_id
        files = home.run(run_id)
        write_run_file(files, run)
        await registry.create_run(run)
        await live_through(registry, run_id, number)
        if number < DISTINCT_STORES:
            write_journal(files.journal, run_id, number, scalars)
            ingest(run_id, files.journal, files.telemetry)
            files.journal.unlink()
            stores.append(files.telemetry)
        else:
            shutil.copyfile(stores[number % len(stores)], files.telemetry)
    await registry.close()
    return sum(store.stat().st_size for store in stores) / len(stores)


def timed_s(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def measure_ours(home: Home, runs: int, scalars: int) -> tuple[float, float, float]:
    daemon = DaemonHarness(home.root)
    daemon.start()
    try:
        listing = timed_s(lambda: daemon.client.list_runs(limit=0))
        run_ids = [record.run_id for record in daemon.client.list_runs(limit=0)]
        assert len(run_ids) == runs
        began = time.perf_counter()
        curves = daemon.client.series(run_ids, [ASKED], buckets=BUCKETS)
        one_of_each = time.perf_counter() - began
        expected = scalars // len(METRICS)
        assert [curve.points for curve in curves] == [expected] * runs, "points are missing"
        assert all(len(curve.means) == min(BUCKETS, expected) for curve in curves)
        ten_of_one = timed_s(
            lambda: daemon.client.series(run_ids[:1], METRICS, buckets=CLOSE_LOOK_BUCKETS)
        )
    finally:
        daemon.close()
    return listing, one_of_each, ten_of_one


def read_with_ours(folder: Path, expected: int) -> None:
    assert len(ScalarReader(folder).read_new()["."].series[ASKED]) == expected


def read_with_tensorboard(folder: Path, expected: int) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder))
    accumulator.Reload()
    # Of more than 10,000 scalars it keeps a sample, as TensorBoard does.
    assert len(accumulator.Scalars(ASKED)) == min(expected, 10_000)


def read_with_tbparse(folder: Path, expected: int) -> None:
    from tbparse import SummaryReader

    table = SummaryReader(str(folder)).scalars
    assert (table["tag"] == ASKED).sum() == expected


def measure_files(folder: Path, runs: int, scalars: int) -> dict[str, float]:
    """Seconds per run of each contender; they take turns."""
    for seed in range(runs):
        write_event_file(folder / str(seed), seed, scalars)
    contenders = {
        "ours": read_with_ours,
        "tensorboard": read_with_tensorboard,
        "tbparse": read_with_tbparse,
    }
    spent = dict.fromkeys(contenders, 0.0)
    # Imports are not what is measured.
    write_event_file(folder / "first", 0, len(METRICS) * 2)
    for read in contenders.values():
        read(folder / "first", 2)
    for seed in range(runs):
        for name, read in contenders.items():
            began = time.perf_counter()
            read(folder / str(seed), scalars // len(METRICS))
            spent[name] += (time.perf_counter() - began) / runs
    return spent


def measure(runs: int, scalars: int, baseline_runs: int) -> Figures:
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as place:
        home = Home(Path(place) / "home")
        home.create()
        size = asyncio.run(fill(home, runs, scalars))
        listing, one_of_each, ten_of_one = measure_ours(home, runs, scalars)
        by_file = measure_files(Path(place) / "logs", baseline_runs, scalars)
    return Figures(
        runs=runs,
        scalars=scalars,
        baseline_runs=baseline_runs,
        store_bytes_per_run=size,
        list_s=listing,
        one_curve_of_each_s=one_of_each,
        ten_curves_of_one_s=ten_of_one,
        scalar_reader_s_per_run=by_file["ours"],
        event_accumulator_s_per_run=by_file["tensorboard"],
        tbparse_s_per_run=by_file["tbparse"],
    )


def print_report(figures: Figures) -> None:
    report = Report(f"{figures.runs:,} runs of {figures.scalars:,} scalars")
    ours = figures.ours_s_per_run
    total = ours * figures.runs
    target = f"; target for 1,000 runs <= {TARGET_S:g} s" if figures.runs == 1000 else ""
    report.add(
        f"list them and one curve of each, {BUCKETS} buckets",
        f"{total:.2f} s, {ours * 1e3:.2f} ms a run",
        f"{figures.list_s:.2f} s of it for the list{target}",
    )
    report.add(
        f"ten curves of one run, {CLOSE_LOOK_BUCKETS} buckets",
        f"{figures.ten_curves_of_one_s * 1e3:.0f} ms",
        "",
    )
    for name, seconds in (
        ("ScalarReader on event files", figures.scalar_reader_s_per_run),
        ("EventAccumulator", figures.event_accumulator_s_per_run),
        ("tbparse", figures.tbparse_s_per_run),
    ):
        report.add(
            f"{name}, {figures.baseline_runs} runs",
            f"{seconds:.2f} s a run",
            f"{seconds / ours:,.0f} times ours",
        )
    report.add("size of a store", f"{figures.store_bytes_per_run / 1e6:.1f} MB", "")
    report.print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--scalars", type=int, default=100_000, help="of each run")
    parser.add_argument("--baseline-runs", type=int, default=2)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    figures = measure(arguments.runs, arguments.scalars, arguments.baseline_runs)
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
    else:
        print_report(figures)


if __name__ == "__main__":
    main()
