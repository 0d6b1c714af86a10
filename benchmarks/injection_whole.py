"""What being watched costs a whole process: CPU time of all its threads, with us and without.

    python -m benchmarks.injection_whole [--pairs 12] [--steps 400000] [--no-record]

CartPole, random actions, in a bare loop: short and cheap episodes. `injection_twins` cannot see
what our threads cost the script's by waiting for the interpreter, since both of its contenders pay
for it. Here processes with and without us take turns; they differ by a few per cent among each
other, so it takes many, and a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

from benchmarks.injection_cost import measure
from benchmarks.injection_twins import interval
from benchmarks.report import Report

LOOP = """
import json, random, sys, time
import gymnasium

_, steps = map(int, sys.argv[1:])
actions = random.Random(0).choices((0, 1), k=1000)
env = gymnasium.make("CartPole-v1")
env.reset(seed=0)

def loop(rounds):
    step, reset = env.step, env.reset
    for _ in range(rounds):
        for action in actions:
            result = step(action)
            if result[2] or result[3]:
                reset()

loop(30)
before = time.process_time()
loop(steps // len(actions))
print(json.dumps([{"all": [time.process_time() - before]}, 0]))
"""


def unwatched(steps: int) -> float:
    """Steps a second."""
    done = subprocess.run(
        [sys.executable, "-c", LOOP, "1", str(steps)], stdout=subprocess.PIPE, check=True
    )
    times, _ = json.loads(done.stdout)
    return float(steps / times["all"][0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--steps", type=int, default=400_000, help="of each process")
    parser.add_argument("--record", action=argparse.BooleanOptionalAction, default=True)
    arguments = parser.parse_args()
    steps = arguments.steps
    plain: list[float] = []
    ratios: list[float] = []
    for _ in range(arguments.pairs):
        before = unwatched(steps)
        speeds, _, episodes = measure(1, steps, is_recorded=arguments.record, loop=LOOP)
        if not episodes:
            sys.exit("the watched loop sent nothing: this measured no injection")
        after = unwatched(steps)
        plain += (before, after)
        ratios.append(2 * speeds["all"][0] / (before + after))
    report = Report("What being watched costs a whole process (CartPole-v1, nobody looking)")
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    report.add("plain, median", f"{statistics.median(plain):,.0f} steps/s", "1")
    spread = f"{min(ratios):.4f} to {max(ratios):.4f} in a process"
    report.add("under injection", spread, f"{interval(ratios)}; target ≥ 0.99; load {load}")
    report.print()


if __name__ == "__main__":
    main()
