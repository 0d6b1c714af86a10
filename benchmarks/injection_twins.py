"""What being watched costs a script's own thread, in a process that has Gymnasium twice.

    python -m benchmarks.injection_twins [--processes 10] [--rounds 100] [--no-record]

`injection_cost` puts our methods into the classes and takes them out again, round by round. Python
adapts to the methods it runs, and starts anew with each change: neither contender is as fast as it
is in a process of its own. Here Gymnasium is imported a second time, without us. Both copies run
for the whole time, each with a loop of its own, in turns. One process differs from the next by up
to two per cent for as long as it lives (where things lie in memory), so there are several.

Actions are random: an episode has 23 steps, which is as short as they get in practice.

CPU time of that thread; what our threads take comes on top, see there.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys

from benchmarks.injection_cost import measure
from benchmarks.report import Report

LOOP = """
import json, random, sys, time
import gymnasium as watched_gymnasium

rounds, steps = map(int, sys.argv[1:])
actions = random.Random(0).choices((0, 1), k=steps)
watched = watched_gymnasium.make("CartPole-v1")
sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("mosaic.")]
for name in [name for name in sys.modules if name.partition(".")[0] == "gymnasium"]:
    del sys.modules[name]
import gymnasium

plain = gymnasium.make("CartPole-v1")
assert hasattr(type(watched).reset, "__wrapped__"), "this process is not watched"
assert not hasattr(type(plain).reset, "__wrapped__"), "the other copy is watched, too"

def loop():
    # Compiled for each contender: what Python has learned about one is not used for the other.
    names = {}
    exec('''
def seconds(env, actions, clock):
    env.reset(seed=0)
    env.reset()  # what happens once per seed is not what a step costs
    step, reset = env.step, env.reset
    started = clock()
    for action in actions:
        result = step(action)
        if result[2] or result[3]:
            reset()
    return clock() - started
''', names)
    return names["seconds"]

contenders = {"plain": (loop(), plain), "watched": (loop(), watched)}
contenders["control"] = contenders["plain"]
taken = {name: [] for name in contenders}
for number in range(20 + rounds):
    names = list(contenders)
    for name in names if number % 2 else reversed(names):
        seconds, env = contenders[name]
        taken[name].append(seconds(env, actions, time.thread_time))
print(json.dumps([{name: times[20:] for name, times in taken.items()}, 0]))
"""
_DRAWS = 1000  # of the bootstrap


def interval(ratios: list[float]) -> str:
    """The mean of the processes, and where it lies with 95 %."""
    drawn = sorted(statistics.mean(random.choices(ratios, k=len(ratios))) for _ in range(_DRAWS))
    low, high = drawn[_DRAWS // 40], drawn[-_DRAWS // 40]
    return f"{statistics.mean(ratios):.4f} [{low:.4f}, {high:.4f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=100, help="of each of them")
    parser.add_argument("--steps", type=int, default=600, help="of a round")
    parser.add_argument("--record", action=argparse.BooleanOptionalAction, default=True)
    arguments = parser.parse_args()
    plain_speeds: list[float] = []
    ratios: dict[str, list[float]] = {"plain again": [], "under injection": []}
    for _ in range(arguments.processes):
        speeds, _, episodes = measure(
            arguments.rounds, arguments.steps, is_recorded=arguments.record, loop=LOOP
        )
        if not episodes:
            sys.exit("the watched loop sent nothing: this measured no injection")
        plain, control, watched = speeds["plain"], speeds["control"], speeds["watched"]
        plain_speeds += plain
        again = [speed / of for speed, of in zip(control, plain, strict=True)]
        # Those before and after it: what others on the machine do changes slowly.
        beside = [2 * speed / (a + b) for speed, a, b in zip(watched, plain, control, strict=True)]
        ratios["plain again"].append(statistics.median(again))
        ratios["under injection"].append(statistics.median(beside))
    report = Report("What being watched costs a script's thread, beside an unwatched Gymnasium")
    report.add("plain, median", f"{statistics.median(plain_speeds):,.0f} steps/s", "1")
    for label, medians in ratios.items():
        spread = f"{min(medians):.4f} to {max(medians):.4f} in a process"
        report.add(f"{label}, medians of pairs", spread, interval(medians))
    report.print()


if __name__ == "__main__":
    main()
