"""What it takes to write a run's scalars for other tools, against torch's SummaryWriter.

    python -m benchmarks.export_speed [--scalars 100000] [--repeats 3] [--json]

All contenders write the same points of four metrics. Ours get them in pages, as a client does; the
time of the daemon that answers is not part of it. Medians; the contenders take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from benchmarks.report import Report
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.export.run_rows import EpisodeChoice
from mosaic.export.table_formats import CsvFormat, ParquetFormat
from mosaic.export.tables import export_tables
from mosaic.export.tensorboard import export_tensorboard

TAGS = ("charts/SPS", "losses/value_loss", "losses/policy_loss", "losses/entropy")
PAGE = 20_000
TORCH = "torch SummaryWriter"


class Rows:
    """The points of a run that exists only here."""

    def __init__(self, scalars: int) -> None:
        self._count = scalars // len(TAGS)
        self.record = RunRecord(
            run_id="01JQ0000000000000000000000",
            run_name="benchmark",
            worker="none",
            state=RunState.TERM,
            outcome=Outcome.SUCCEEDED,
            attempt=1,
            priority=0,
            created_at=0.0,
            updated_at=0.0,
        )

    def metrics(self) -> list[MetricInfo]:
        return [MetricInfo(tag, self._count, 0, self._count - 1, 0.0) for tag in TAGS]

    def points(self, name: str) -> Iterator[MetricSeries]:
        for first in range(0, self._count, PAGE):
            steps = tuple(range(first, min(first + PAGE, self._count)))
            values = tuple(map(value, steps))
            moments = tuple(1.7e9 + step for step in steps)
            ones = (1,) * len(steps)
            yield MetricSeries(
                "", name, steps, steps, values, values, values, ones, moments, self._count
            )

    def episodes(self, choice: EpisodeChoice) -> Iterator[list[EpisodeSummary]]:
        return iter(())

    def steps(self, choice: EpisodeChoice) -> Iterator[list[TrainingStep]]:
        return iter(())


def value(step: int) -> float:
    return 0.123456789 + step


def write_with_torch(folder: Path, scalars: int) -> None:
    writer = SummaryWriter(str(folder))
    for step in range(scalars // len(TAGS)):
        for tag in TAGS:
            writer.add_scalar(tag, value(step), step)
    writer.close()


CONTENDERS: dict[str, Callable[[Path, int], object]] = {
    TORCH: write_with_torch,
    "export to tensorboard": lambda folder, n: export_tensorboard(Rows(n), folder),
    "export to csv": lambda folder, n: export_tables(Rows(n), folder, CsvFormat()),
    "export to csv, wide": lambda folder, n: export_tables(
        Rows(n), folder, CsvFormat(), is_wide=True
    ),
    "export to parquet": lambda folder, n: export_tables(Rows(n), folder, ParquetFormat()),
}


def median_seconds(scalars: int, repeats: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    for _ in range(repeats):
        for name, contender in CONTENDERS.items():
            with tempfile.TemporaryDirectory() as folder:
                began = time.process_time()
                contender(Path(folder) / "out", scalars)
                taken[name].append(time.process_time() - began)
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scalars", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    seconds = median_seconds(arguments.scalars, arguments.repeats)
    if arguments.json:
        print(json.dumps(seconds, indent=2))
        return
    report = Report(f"Writing {arguments.scalars:,} scalars for other tools")
    for name, taken in seconds.items():
        figure = f"{taken * 1e3:,.0f} ms CPU, {taken / arguments.scalars * 1e6:.2f} µs a scalar"
        ratio = "" if name == TORCH else f"{seconds[TORCH] / taken:.1f} times faster than torch's"
        report.add(name, figure, ratio)
    report.print()


if __name__ == "__main__":
    main()
