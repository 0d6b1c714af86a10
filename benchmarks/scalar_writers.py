"""What a logged scalar costs a training, against torch's SummaryWriter and W&B in the same run.

    python -m benchmarks.scalar_writers [--scalars 100000] [--repeats 3] [--json]

"calling thread" is CPU time of the thread that trains; "total" adds the other threads of its
process, up to the end of the writing; "wall" is how long it all took. W&B offline is used as its
users do, with one `run.log` per scalar; the process it starts beside the training is only in the
wall time. Each figure is the median of the repeats, which alternate between the writers. Whatever
was written is read back: the same number of scalars has to be there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from benchmarks.report import Report
from cleanrl_worker.kit.writers.tensorboard import TensorBoardWriter
from cleanrl_worker.kit.writers.wandb import WandbSettings, WandbWriter
from mosaic.analytics.tensorboard.reader import ScalarReader
from mosaic.analytics.wandb.reader import WandbReader, latest_log
from mosaic.worker.assignment import Assignment
from mosaic.worker.event_writer import EventWriter
from mosaic.worker.journal import Journal

TAGS = ("charts/SPS", "losses/value_loss", "losses/policy_loss", "losses/entropy")
OURS, JOURNAL, TORCH, WANDB, SIDECAR = (
    "TensorBoardWriter",
    "journal (Run.metric)",
    "torch SummaryWriter",
    "W&B offline",
    "WandbWriter, training's side",
)


@dataclass(frozen=True)
class Cost:
    calling_thread_us: float
    total_us: float
    wall_us: float
    dropped: int = 0  # by the one writer that may, in the worst of the repeats


def measure(scalar: Callable[[str, float, int], object], end: Callable[[], object], n: int) -> Cost:
    wall, thread, process = time.perf_counter(), time.thread_time(), time.process_time()
    for index in range(n):
        scalar(TAGS[index % len(TAGS)], 0.123456789 + index, index // len(TAGS))
    calling = time.thread_time() - thread
    end()
    total, took = time.process_time() - process, time.perf_counter() - wall
    return Cost(calling / n * 1e6, total / n * 1e6, took / n * 1e6)


def assert_events(folder: Path, scalars: int) -> None:
    found = sum(map(len, ScalarReader(folder).read_new()["."].series.values()))
    assert found == scalars, f"{found} scalars of {scalars} are there"


def measure_ours(folder: Path, scalars: int) -> Cost:
    writer = TensorBoardWriter(folder)
    cost = measure(writer.scalar, writer.close, scalars)
    assert_events(folder, scalars)
    return cost


def measure_journal(folder: Path, scalars: int) -> Cost:
    path = folder / "events.jsonl"
    journal = Journal(path)
    writer = EventWriter(journal, Assignment("01JQ0000000000000000000000", "agent_0", "bench"))
    cost = measure(writer.metric, journal.close, scalars)
    assert path.read_bytes().count(b"\n") == scalars
    return cost


def measure_torch(folder: Path, scalars: int) -> Cost:
    writer = SummaryWriter(str(folder))
    cost = measure(writer.add_scalar, writer.close, scalars)
    assert_events(folder, scalars)
    return cost


def measure_wandb(folder: Path, scalars: int) -> Cost:
    import wandb

    settings = wandb.Settings(
        console="off", disable_git=True, save_code=False, silent=True, x_disable_stats=True
    )
    run = wandb.init(project="benchmark", mode="offline", dir=str(folder), settings=settings)

    def scalar(tag: str, value: float, step: int) -> None:
        run.log({tag: value, "global_step": step})

    cost = measure(scalar, run.finish, scalars)
    log = latest_log(folder)
    assert log is not None
    news = WandbReader(log).read_new()
    found = sum(len(series) for tag, series in news.series.items() if tag in TAGS)
    assert found == scalars, f"{found} scalars of {scalars} are there"
    return cost


def measure_sidecar(folder: Path, scalars: int) -> Cost:
    """The training's side only: the sidecar is a process that throws away what it gets."""
    discard = (sys.executable, "-c", "import sys\nfor line in sys.stdin.buffer: pass")
    writer = WandbWriter(folder, WandbSettings(project="benchmark"), command=discard)
    cost = measure(writer.scalar, writer.close, scalars)
    return replace(cost, dropped=writer.dropped)


def median_costs(scalars: int, repeats: int) -> dict[str, Cost]:
    contenders = {
        OURS: measure_ours,
        JOURNAL: measure_journal,
        TORCH: measure_torch,
        WANDB: measure_wandb,
        SIDECAR: measure_sidecar,
    }
    taken: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, contender in contenders.items():
            with tempfile.TemporaryDirectory() as folder:
                taken[name].append(contender(Path(folder), scalars))
    return {
        name: Cost(
            statistics.median(cost.calling_thread_us for cost in costs),
            statistics.median(cost.total_us for cost in costs),
            statistics.median(cost.wall_us for cost in costs),
            max(cost.dropped for cost in costs),
        )
        for name, costs in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scalars", type=int, default=100_000, help="scalars per measurement")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    costs = median_costs(arguments.scalars, arguments.repeats)
    if arguments.json:
        print(json.dumps({name: asdict(cost) for name, cost in costs.items()}, indent=2))
        return
    report = Report(f"What a logged scalar costs the training ({arguments.scalars:,} of them)")
    for name, cost in costs.items():
        figure = (
            f"{cost.calling_thread_us:.2f} µs calling thread, {cost.total_us:.2f} µs total,"
            f" {cost.wall_us:.1f} µs wall"
        )
        if cost.dropped:
            # No training logs in a loop that does nothing else.
            figure += f", {cost.dropped:,} dropped"
        report.add(name, figure, against(cost, costs[TORCH]) if name != TORCH else "")
    report.print()


def against(cost: Cost, baseline: Cost) -> str:
    calling = cost.calling_thread_us / baseline.calling_thread_us
    total = cost.total_us / baseline.total_us
    wall = cost.wall_us / baseline.wall_us
    return f"{calling:.3f} and {total:.3f} of torch's writer, wall {wall:.2f}"


if __name__ == "__main__":
    main()
