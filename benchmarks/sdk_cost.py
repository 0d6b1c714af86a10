"""What an event costs a worker, against `json.dumps` + `write` + `flush` in the same run.

    python -m benchmarks.sdk_cost [--events 20000] [--repeats 15] [--json]

"calling thread" is CPU time of the thread that trains; "total" adds the journal's thread and the
writing. Each figure is the median of the repeats, which alternate between all contenders, so a
noisy machine hits them alike; the ratios are what to compare.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.worker.assignment import Assignment, new_run_id
from mosaic.worker.control import Control
from mosaic.worker.journal import Journal
from mosaic.worker.run import Run


@dataclass(frozen=True)
class Cost:
    calling_thread_us: float
    total_us: float


@dataclass(frozen=True)
class Contender:
    name: str
    send: Callable[[int], None]  # one event
    settle: Callable[[], object]  # until everything is written


def measure(contender: Contender, events: int) -> Cost:
    send = contender.send
    thread, process = time.thread_time(), time.process_time()
    for index in range(events):
        send(index)
    calling = time.thread_time() - thread
    contender.settle()
    return Cost(calling / events * 1e6, (time.process_time() - process) / events * 1e6)


def cart_pole_observations() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(1024, 4)).astype(np.float32)


def contenders(folder: Path) -> tuple[list[Contender], Callable[[], object]]:
    journal = Journal(folder / "events.jsonl")
    assignment = Assignment(new_run_id(), "agent_0", "benchmark")
    run: Run[None] = Run(assignment, WorkerCapabilities("benchmark"), journal, Control())
    file = (folder / "plain.jsonl").open("a")
    observations = cart_pole_observations()

    def sdk_metric(index: int) -> None:
        run.metric("losses/policy_loss", 0.123456789 + index, index)

    def plain_metric(index: int) -> None:
        event = {
            "type": "metric",
            "seq": index,
            "timestamp": time.time(),
            "name": "losses/policy_loss",
            "value": 0.123456789 + index,
            "step": index,
        }
        file.write(json.dumps(event) + "\n")
        file.flush()

    def sdk_step(index: int) -> None:
        run.step(
            episode_index=3,
            step_index=index,
            action=index & 1,
            observation=observations[index & 1023],
            reward=1.0,
            terminated=False,
            truncated=False,
            episode_seed=7,
            info={},
        )

    def plain_step(index: int) -> None:
        event = {
            "type": "step",
            "seq": index,
            "timestamp": time.time(),
            "episode_index": 3,
            "step_index": index,
            "action": index & 1,
            "observation": observations[index & 1023].tolist(),
            "reward": 1.0,
            "terminated": False,
            "truncated": False,
            "episode_seed": 7,
        }
        file.write(json.dumps(event) + "\n")
        file.flush()

    def sdk_should_stop(index: int) -> None:
        run.should_stop()

    def empty_loop(index: int) -> None:
        pass

    def nothing() -> None:
        pass

    listed = [
        Contender("metric", sdk_metric, journal.flush),
        Contender("metric, json.dumps + flush", plain_metric, nothing),
        Contender("step", sdk_step, journal.flush),
        Contender("step, json.dumps + flush", plain_step, nothing),
        Contender("should_stop", sdk_should_stop, nothing),
        Contender("(empty loop)", empty_loop, nothing),
    ]

    def close() -> None:
        journal.close()
        file.close()

    return listed, close


def median_costs(events: int, repeats: int) -> dict[str, Cost]:
    with tempfile.TemporaryDirectory() as folder:
        listed, close = contenders(Path(folder))
        taken: dict[str, list[Cost]] = {contender.name: [] for contender in listed}
        for _ in range(repeats):
            for contender in listed:
                taken[contender.name].append(measure(contender, events))
        close()
    return {
        name: Cost(
            statistics.median(cost.calling_thread_us for cost in costs),
            statistics.median(cost.total_us for cost in costs),
        )
        for name, costs in taken.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000, help="events per measurement")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    costs = median_costs(arguments.events, arguments.repeats)
    ratios = {
        kind: {
            "calling_thread": costs[kind].calling_thread_us
            / costs[f"{kind}, json.dumps + flush"].calling_thread_us,
            "total": costs[kind].total_us / costs[f"{kind}, json.dumps + flush"].total_us,
        }
        for kind in ("metric", "step")
    }
    if arguments.json:
        shown = {name: asdict(cost) for name, cost in costs.items()}
        print(json.dumps({"costs": shown, "ratios": ratios}, indent=2))
        return
    report = Report("What an event costs the worker")
    for name, cost in costs.items():
        figure = f"{cost.calling_thread_us:.2f} µs calling thread, {cost.total_us:.2f} µs total"
        ratio = ratios.get(name)
        against = (
            f"{ratio['calling_thread']:.2f} and {ratio['total']:.2f} of json.dumps + write + flush"
            if ratio
            else ""
        )
        report.add(name, figure, against)
    report.print()


if __name__ == "__main__":
    main()
