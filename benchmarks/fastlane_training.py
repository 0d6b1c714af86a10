"""What the live view costs our own trainings: steps per second without it, with it but nobody
watching, with a viewer at 30 frames per second, and with a grid of eight.

Each training has a process of its own; the viewer is another, as it is for a user. Rounds are
interleaved, and a ratio is the median of the ratios within the rounds, so that a machine that slows
down meanwhile favours nobody. The second ratio is by the CPU time of the training, which says more
than the clock where others use the machine. `--rounds N` and names of cases choose less.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from benchmarks.report import Report
from benchmarks.training_speed import Stopwatch
from mosaic.fastlane.segment import SHARED_MEMORY
from mosaic.fastlane.settings import GRID_LIMIT, SEGMENT
from mosaic.fastlane.viewer import Viewer

FPS = 30
GRID = 8


@dataclass(frozen=True)
class Case:
    algo: str
    env_id: str
    steps: int
    flags: dict[str, int] = field(default_factory=dict)


# One epoch of learning where it would otherwise hide what the environments cost.
SHORT = {"num_envs": 8, "num_steps": 32, "update_epochs": 1}
CASES = {
    "cart_pole": Case("ppo", "CartPole-v1", 120_000, {"num_envs": 8}),
    "minigrid": Case("ppo", "MiniGrid-Empty-8x8-v0", 8192, SHORT),
    "pong": Case("ppo_atari", "PongNoFrameskip-v4", 2560, SHORT),
    "half_cheetah": Case("ppo_continuous_action", "HalfCheetah-v4", 30_720),
}
# How it runs: whether there is a segment, and how many slots somebody watches.
WAYS = {
    "without": (False, 0),
    "nobody watches": (True, 0),
    f"viewer at {FPS} fps": (True, 1),
    f"grid of {GRID}": (True, GRID),
}
BASELINE = "without"


class TwoClocks(Stopwatch):
    """Looks at the CPU time as well."""

    def __init__(self, first_step: int) -> None:
        super().__init__(first_step)
        self._starts_at = first_step
        self._cpu: list[tuple[float, int]] = []

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        super().progress(steps=steps, total_steps=total_steps)
        if steps >= self._starts_at:
            self._cpu.append((time.process_time(), steps))

    def steps_per_cpu_second(self) -> float:
        (first, first_step), (last, last_step) = self._cpu[0], self._cpu[-1]
        return (last_step - first_step) / (last - first)


class Measured(NamedTuple):
    speed: float  # steps per second
    cpu_speed: float  # steps per second of CPU time
    pictures: float  # per second


def train(case: Case) -> tuple[float, float]:
    """Speeds of the whole loop, without the time until it begins."""
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import parse_arguments
    from cleanrl_worker.registry import find_algorithm

    algorithm = find_algorithm(case.algo)
    given = {"env_id": case.env_id, "total_timesteps": case.steps, "threads": 1, **case.flags}
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
    stopwatch = TwoClocks(case.steps // 4)  # the first frames load drivers
    run_training(algorithm, parse_arguments(algorithm, flags), stopwatch, None)
    return stopwatch.steps_per_second(), stopwatch.steps_per_cpu_second()


def measure(name: str, way: str) -> Measured:
    has_segment, watched = WAYS[way]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    environment.pop(SEGMENT, None)
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.fastlane_training",
        "--train",
        name,
    ]
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY) as folder:
        path = Path(folder) / "segment"
        if has_segment:
            environment |= {SEGMENT: str(path), GRID_LIMIT: str(max(watched, 4))}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            pictures = watch(process, path, watched) if watched else 0.0
            output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(process.returncode)
    speed, cpu_speed = json.loads(output.splitlines()[-1])
    return Measured(speed, cpu_speed, pictures)


def watch(process: subprocess.Popen[bytes], path: Path, slots: int) -> float:
    """Looks as often as a viewer does, until the training is over."""
    viewer, seen, first = Viewer(path, slot_count=slots, interval_s=1 / FPS), 0, 0.0
    last = 0.0
    while process.poll() is None:
        if viewer.poll().picture is not None:
            seen += 1
            last = time.monotonic()
            first = first or last
        time.sleep(1 / FPS)
    viewer.close()
    return (seen - 1) / (last - first) if seen > 1 else float(seen)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--train", choices=CASES, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.train:
        print(json.dumps(train(CASES[chosen.train])))
        return 0
    report = Report("Live view of our own trainings, steps per second")
    for name in chosen.cases or CASES:
        case = CASES[name]
        found: dict[str, list[Measured]] = defaultdict(list)
        for number in range(chosen.rounds):
            # Forwards and backwards in turn: whoever comes first may find a cooler machine.
            for way in list(WAYS)[:: -1 if number % 2 else 1]:
                found[way].append(measure(name, way))
        for way in WAYS:
            pairs = list(zip(found[way], found[BASELINE], strict=True))
            ratio = statistics.median(own.speed / base.speed for own, base in pairs)
            cpu_ratio = statistics.median(own.cpu_speed / base.cpu_speed for own, base in pairs)
            against = f"{ratio:.3f} of {BASELINE} ({cpu_ratio:.3f} by CPU time)"
            if WAYS[way][1]:
                pictures = statistics.median(own.pictures for own in found[way])
                against += f", {pictures:.1f} pictures/s"
            speed = statistics.median(own.speed for own in found[way])
            report.add(f"{case.algo} {case.env_id}, {way}", f"{speed:,.0f}/s", against)
    report.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
