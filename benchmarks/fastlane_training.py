"""What the live view costs our own trainings: steps per second without it, with it but nobody
watching, with a viewer at 30 frames per second, and with a grid of eight.

One training per case goes through all four in turn, a moment each, again and again: two
processes of the same training differ by more on this kind of machine (up to 10 %) than what is
measured here. The viewer is another process, as it is for a user. "Without" means that the thread
which looks for viewers is put to sleep; it is all that is there when nobody watches.

Speeds are steps per second of CPU time, of all threads of the training's process together: what
others do on the machine changes the clock by far more than what is measured, and the CPU time
little; what the view does to caches is in it. A ratio is the mean over all rounds, each way against
"without" of the same round, with the interval that holds the true one in 95 of 100 cases, and what
that decides. The share of the time that the view takes for itself, in the training's thread and in
its own, is measured directly. `--rounds N`, `--ways` and names of cases choose less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, NamedTuple

from benchmarks.report import Report
from benchmarks.training_speed import Stopwatch
from mosaic.fastlane import lane
from mosaic.fastlane.layout import Lease
from mosaic.fastlane.segment import SHARED_MEMORY, Segment, open_segment
from mosaic.fastlane.settings import GRID_LIMIT, SEGMENT
from mosaic.fastlane.viewer import Viewer

FPS = 30
GRID = 8
PHASE_S = 1.5
SETTLED_S = 0.2  # after a phase began
WITHOUT, NOBODY, ONE, MANY = (
    "without",
    "nobody watches",
    f"viewer at {FPS} fps",
    f"grid of {GRID}",
)
WATCHED = {WITHOUT: 0, NOBODY: 0, ONE: 1, MANY: GRID}  # slots
TARGETS = {NOBODY: 0.995, ONE: 0.97, MANY: 0.95}
SHORT_NAMES = {"nobody": NOBODY, "one": ONE, "many": MANY}
MUTE, AWAKE, QUIT = b"m", b"a", b"q"


@dataclass(frozen=True)
class Case:
    algo: str
    env_id: str
    values: dict[str, int] = field(default_factory=dict)


# One epoch of learning where it would otherwise hide what the environments cost.
SHORT = {"num_envs": 8, "num_steps": 32, "update_epochs": 1}
CASES = {
    "cart_pole": Case("ppo", "CartPole-v1", {"num_envs": 8}),
    "minigrid": Case("ppo", "MiniGrid-Empty-8x8-v0", SHORT),
    "pong": Case("ppo_atari", "PongNoFrameskip-v4", {**SHORT, "num_steps": 16}),
    "half_cheetah": Case("ppo_continuous_action", "HalfCheetah-v4", {"num_steps": 1024}),
}


End = tuple[float, float, int]  # of an iteration: clock, CPU time, steps


class Training(Stopwatch):
    """Notes when each iteration ended; stops when it is told to."""

    def __init__(self) -> None:
        super().__init__(0)
        self.ends: list[End] = []
        self.is_over = False

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        self.ends.append((time.monotonic(), time.process_time(), steps))

    def should_stop(self) -> bool:
        return self.is_over


Spent = list[tuple[float, float]]  # when, how many seconds


class MutableLane(lane.Lane):
    is_awake = threading.Event()
    spent: ClassVar[Spent] = []  # by the view

    def _wake(self, lease: Lease) -> float:
        MutableLane.is_awake.wait()
        before = time.thread_time()
        pause_s = super()._wake(lease)
        # Twice: what it takes to sleep and to wake up is not seen here.
        MutableLane.spent.append((time.monotonic(), 2 * (time.thread_time() - before)))
        return pause_s


class TimedTap(lane.Tap):
    def show(self) -> None:
        before = time.monotonic()
        super().show()
        after = time.monotonic()
        MutableLane.spent.append((after, after - before))


def train(case: Case) -> tuple[list[End], Spent]:
    import cleanrl_worker.environments.live_view as live_view
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import make_arguments
    from cleanrl_worker.registry import find_algorithm

    vars(live_view).update(Lane=MutableLane)
    vars(lane).update(Tap=TimedTap)
    algorithm = find_algorithm(case.algo)
    given = {"env_id": case.env_id, "total_timesteps": 1_000_000_000, "threads": 1, **case.values}
    training = Training()

    def obey() -> None:
        while (order := os.read(sys.stdin.fileno(), 1)) not in (QUIT, b""):
            (MutableLane.is_awake.set if order == AWAKE else MutableLane.is_awake.clear)()
        MutableLane.is_awake.set()
        training.is_over = True

    threading.Thread(target=obey, daemon=True).start()
    run_training(algorithm, make_arguments(algorithm, given), training, None)
    return training.ends, MutableLane.spent


class Phase(NamedTuple):
    way: str
    round: int
    began: float
    ended: float
    pictures: int


class Measured(NamedTuple):
    speed: float  # steps per second of CPU time
    share: float  # of the time, taken by the view
    pictures: float  # per second


def measure(name: str, rounds: int, ways: list[str]) -> dict[str, list[Measured]]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", GRID_LIMIT: str(GRID)}
    module = "benchmarks.fastlane_training"
    command = [sys.executable, "-W", "ignore", "-m", module, "--train", name]
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        path = Path(folder) / "segment"
        environment[SEGMENT] = str(path)
        with subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        ) as process:
            segment = opened(path, process)
            phases = [
                go_through(way, number, path, segment, process)
                for number in range(rounds + 1)
                # Forwards and backwards in turn: what changes meanwhile favours nobody.
                for way in ways[:: -1 if number % 2 else 1]
            ]
            output, _ = process.communicate(QUIT)
    if process.returncode:
        raise SystemExit(process.returncode)
    ends, spent = json.loads(output.splitlines()[-1])
    found: dict[str, list[Measured]] = defaultdict(list)
    for phase in phases:
        if phase.round > 0:  # drivers and fonts are loaded in the first one
            found[phase.way].append(measured(phase, ends, spent))
    return found


def opened(path: Path, process: subprocess.Popen[bytes]) -> Segment:
    while process.poll() is None:
        try:
            return open_segment(path)
        except FileNotFoundError:
            time.sleep(0.05)
    raise SystemExit(process.returncode)


def go_through(
    way: str, number: int, path: Path, segment: Segment, process: subprocess.Popen[bytes]
) -> Phase:
    assert process.stdin is not None
    process.stdin.write(MUTE if way == WITHOUT else AWAKE)
    began, pictures = time.monotonic(), 0
    if WATCHED[way]:
        viewer = Viewer(path, slot_count=WATCHED[way], interval_s=1 / FPS)
        while time.monotonic() < began + PHASE_S:
            pictures += viewer.poll().picture is not None
            time.sleep(1 / FPS)
        viewer.close()
        segment.set_lease(Lease())
    else:
        time.sleep(PHASE_S)
    return Phase(way, number, began, time.monotonic(), pictures)


def measured(phase: Phase, ends: list[End], spent: Spent) -> Measured:
    """The speed from the iterations that lie within the phase as a whole."""
    cpu_s = steps = 0.0
    for (start, cpu_before, first), (end, cpu_after, last) in pairwise(ends):
        if phase.began + SETTLED_S <= start and end <= phase.ended:
            cpu_s, steps = cpu_s + cpu_after - cpu_before, steps + last - first
    length = phase.ended - phase.began
    share = sum(cost for at, cost in spent if phase.began <= at <= phase.ended) / length
    return Measured(steps / cpu_s, share, phase.pictures / length)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--ways", nargs="+", choices=SHORT_NAMES, default=list(SHORT_NAMES))
    parser.add_argument("--train", choices=CASES, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.train:
        print(json.dumps(train(CASES[chosen.train])))
        return 0
    report = Report("Live view of our own trainings, steps per second")
    for name in chosen.cases or CASES:
        ways = [WITHOUT, *(SHORT_NAMES[way] for way in chosen.ways)]
        found = measure(name, chosen.rounds, ways)
        for way in ways:
            add_row(report, CASES[name], way, found[way], found[WITHOUT])
    report.print()
    return 0


def add_row(
    report: Report, case: Case, way: str, own: list[Measured], base: list[Measured]
) -> None:
    speed = statistics.median(one.speed for one in own)
    if way == WITHOUT:
        report.add(f"{case.algo} {case.env_id}, {way}", f"{speed:,.0f} per s of CPU", "1")
        return
    ratios = [one.speed / other.speed for one, other in zip(own, base, strict=True)]
    ratio = statistics.mean(ratios)
    error = 1.96 * statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else 1.0
    share = statistics.mean(one.share for one in own)
    against = f"{ratio:.4f} ± {error:.4f} of {WITHOUT}, {verdict(ratio, error, TARGETS[way])};"
    against += f" takes {share:.2%}"
    if WATCHED[way]:
        against += f", {statistics.mean(one.pictures for one in own):.1f} pictures/s"
    report.add(f"{case.algo} {case.env_id}, {way}", f"{speed:,.0f} per s of CPU", against)


def verdict(ratio: float, error: float, target: float) -> str:
    if ratio - error >= target:
        return f"so at least {target}"
    return f"so below {target}" if ratio + error < target else f"whether {target} is undecided"


if __name__ == "__main__":
    sys.exit(main())
