"""What a logged scalar costs a training, against torch's SummaryWriter in the same run.

    python -m benchmarks.scalar_writers [--scalars 20000] [--repeats 5] [--json]

"calling thread" is CPU time of the thread that trains; "total" adds the writer's own thread and the
writing. Each figure is the median of the repeats, which alternate between the writers.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from torch.utils.tensorboard import SummaryWriter

from benchmarks.report import Report
from cleanrl_worker.kit.tensorboard_writer import TensorBoardWriter
from cleanrl_worker.kit.wandb_writer import WandbSettings, WandbWriter

TAGS = ("charts/SPS", "losses/value_loss", "losses/policy_loss", "losses/entropy")
OURS, TORCH, WANDB = (
    "TensorBoardWriter",
    "torch SummaryWriter",
    "WandbWriter",
)


@dataclass(frozen=True)
class Cost:
    calling_thread_us: float
    total_us: float


def measure(scalar: Callable[[str, float, int], object], end: Callable[[], object], n: int) -> Cost:
    thread, process = time.thread_time(), time.process_time()
    for index in range(n):
        scalar(TAGS[index % len(TAGS)], 0.123456789 + index, index // len(TAGS))
    calling = time.thread_time() - thread
    end()
    return Cost(calling / n * 1e6, (time.process_time() - process) / n * 1e6)


def measure_ours(folder: Path, scalars: int) -> Cost:
    writer = TensorBoardWriter(folder)
    return measure(writer.scalar, writer.close, scalars)


def measure_torch(folder: Path, scalars: int) -> Cost:
    writer = SummaryWriter(str(folder))
    return measure(writer.add_scalar, writer.close, scalars)


def measure_wandb(folder: Path, scalars: int) -> Cost:
    """The training's side only: the sidecar is a process that throws away what it gets."""
    discard = (sys.executable, "-c", "import sys\nfor line in sys.stdin.buffer: pass")
    writer = WandbWriter(folder, WandbSettings(project="benchmark"), command=discard)
    return measure(writer.scalar, writer.close, scalars)


def median_costs(scalars: int, repeats: int) -> dict[str, Cost]:
    contenders = {OURS: measure_ours, TORCH: measure_torch, WANDB: measure_wandb}
    taken: dict[str, list[Cost]] = {name: [] for name in contenders}
    for _ in range(repeats):
        for name, contender in contenders.items():
            with tempfile.TemporaryDirectory() as folder:
                taken[name].append(contender(Path(folder), scalars))
    return {
        name: Cost(
            statistics.median(cost.calling_thread_us for cost in costs),
            statistics.median(cost.total_us for cost in costs),
        )
        for name, costs in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scalars", type=int, default=20_000, help="scalars per measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    costs = median_costs(arguments.scalars, arguments.repeats)
    if arguments.json:
        print(json.dumps({name: asdict(cost) for name, cost in costs.items()}, indent=2))
        return
    report = Report("What a logged scalar costs the training")
    baseline = costs[TORCH]
    for name, cost in costs.items():
        figure = f"{cost.calling_thread_us:.2f} µs calling thread, {cost.total_us:.2f} µs total"
        calling = cost.calling_thread_us / baseline.calling_thread_us
        ratio = f"{calling:.3f} and {cost.total_us / baseline.total_us:.3f} of torch's writer"
        report.add(name, figure, ratio if name != TORCH else "")
    report.print()


if __name__ == "__main__":
    main()
