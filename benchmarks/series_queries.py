"""Opening curves: one that is very long, and one of each of many runs.

    python -m benchmarks.series_queries [--points 2000000] [--runs 200] [--run-points 20000]

1. One metric of so many points, whole or zoomed in, in 1,000 and 2,000 buckets. The baseline is
   the plain way in the same run: SELECT step and value of every point in the range, nothing more.
   "Cold" means that the system was told to forget the file before.
2. One series of every run in 200 buckets, through daemon and client, against a loop that opens each
   store and reads all points. The target for 1,000 runs is well under 2 s.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ulid import ULID

from benchmarks.report import Report
from mosaic.contracts.metrics import MetricSeries
from mosaic.telemetry.series import bucketed_series
from mosaic.telemetry.store.pyramid import fill_buckets
from mosaic.telemetry.store.reader import reading
from mosaic.telemetry.store.store import TelemetryStore
from tests.daemon_harness import DaemonHarness

NAME = "losses/value_loss"
BYTES_PER_LINE = 110
FILL_AT_ONCE = 10_000
TARGET_MS = 300
RUN_BUCKETS = 200


def make_store(path: Path, run_id: str, points: int) -> float:
    """A store with one long metric, filled like ingest does: part by part. Returns seconds."""
    TelemetryStore(path, run_id).close()
    began = time.perf_counter()
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for start in range(0, points, FILL_AT_ONCE):
            count = min(FILL_AT_ONCE, points - start)
            db.execute("BEGIN")
            db.execute(
                "WITH RECURSIVE number (n) AS"
                " (SELECT ?1 UNION ALL SELECT n + 1 FROM number WHERE n < ?1 + ?2 - 1)"
                f" INSERT INTO metrics SELECT ?3, n * {BYTES_PER_LINE}, n, 1.7e9 + n * 0.001,"
                " (n * 2654435761 % 1000003) / 1e6, n * 4 FROM number",
                (start, count, NAME),
            )
            db.execute(
                "INSERT INTO metric_summaries VALUES (?, ?, 0, ?, ?) ON CONFLICT (name) DO UPDATE"
                " SET points = points + excluded.points, last_step = excluded.last_step",
                (NAME, count, start * 4, (start + count - 1) * 4),
            )
            fill_buckets(db)
            db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return time.perf_counter() - began


def forget(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def milliseconds(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1e3


def asked(path: Path, steps: tuple[int, int], buckets: int) -> MetricSeries:
    with reading(path) as store:
        assert store is not None
        return bucketed_series(store, NAME, *steps, buckets)


def plainly(path: Path, steps: tuple[int, int]) -> list[tuple[int, float]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(
            "SELECT step, value FROM metrics WHERE name = ? AND step BETWEEN ? AND ?",
            (NAME, *steps),
        ).fetchall()


def measure_long_curve(folder: Path, points: int) -> None:
    report = Report(f"a curve of {points:,} points; target <= {TARGET_MS} ms")
    path = folder / "telemetry.sqlite"
    took = make_store(path, str(ULID()), points)
    report.add("filling the store", f"{points / took:,.0f} points/s", "with pyramid")
    last = (points - 1) * 4
    for what, steps in (
        ("whole", (0, last)),
        ("half", (last // 4, last // 4 * 3)),
        ("200,000 points", (last // 3, last // 3 + 800_000)),
        ("5,000 points", (last // 3, last // 3 + 20_000)),
    ):
        plain_ms = milliseconds(lambda steps=steps: plainly(path, steps))  # type: ignore[misc]
        for buckets in (1000, 2000):
            forget(path)
            cold_ms = milliseconds(lambda s=steps, b=buckets: asked(path, s, b))  # type: ignore[misc]
            warm_ms = min(
                milliseconds(lambda s=steps, b=buckets: asked(path, s, b))  # type: ignore[misc]
                for _ in range(5)
            )
            series = asked(path, steps, buckets)
            report.add(
                f"{what}: {series.points:,} points in {len(series.counts):,} buckets",
                f"cold {cold_ms:.1f} ms, warm {warm_ms:.1f} ms",
                f"{plain_ms / warm_ms:,.0f} times faster than {plain_ms:,.0f} ms for all points",
            )
    report.print()


def measure_many_runs(folder: Path, runs: int, points: int) -> None:
    report = Report(f"one series of {runs:,} runs of {points:,} points, {RUN_BUCKETS} buckets each")
    daemon = DaemonHarness(folder / "home")
    daemon.home.create()
    original = folder / "original.sqlite"
    make_store(original, str(ULID()), points)
    run_ids = [str(ULID()) for _ in range(runs)]
    paths = [daemon.home.run(run_id).telemetry for run_id in run_ids]
    for path in paths:
        path.parent.mkdir(parents=True)
        shutil.copyfile(original, path)
    daemon.start()
    try:
        daemon.client.health()
        first_ms = milliseconds(lambda: daemon.client.series(run_ids, NAME, buckets=RUN_BUCKETS))
        again_ms = milliseconds(lambda: daemon.client.series(run_ids, NAME, buckets=RUN_BUCKETS))
        found = daemon.client.series(run_ids, NAME, buckets=RUN_BUCKETS)
        assert sum(series.points for series in found) == runs * points
    finally:
        daemon.close()
    some = paths[: max(1, runs // 20)]
    plain_ms = milliseconds(lambda: [plainly(path, (0, points * 4)) for path in some])
    plain_ms *= len(paths) / len(some)
    against = f"than {plain_ms:,.0f} ms for all points by SQLite (from {len(some)} of the runs)"
    for what, took_ms in (("first time", first_ms), ("again", again_ms)):
        report.add(what, f"{took_ms:,.0f} ms", f"{plain_ms / took_ms:.0f} times faster {against}")
    report.print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--points", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--run-points", type=int, default=20_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as folder:
        measure_long_curve(Path(folder), arguments.points)
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as folder:
        measure_many_runs(Path(folder), arguments.runs, arguments.run_points)


if __name__ == "__main__":
    main()
