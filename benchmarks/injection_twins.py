"""What being watched costs a script's own thread, in a process that has Gymnasium twice.

    python -m benchmarks.injection_twins [--rounds 600] [--steps 600] [--no-record]

`injection_cost` puts our methods into the classes and takes them out again, round by round. Python
adapts to the methods it runs, and starts anew with each change: neither contender is as fast as it
is in a process of its own. Here Gymnasium is imported a second time, without us. Both copies run
for the whole time, each with a loop of its own, in turns.

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
import json, sys, time
import gymnasium as watched_gymnasium

rounds, steps = map(int, sys.argv[1:])
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
def seconds(env, count, clock):
    env.reset(seed=0)
    env.reset()  # what happens once per seed is not what a step costs
    step, reset = env.step, env.reset
    started = clock()
    for index in range(count):
        result = step(index & 1)
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
        taken[name].append(seconds(env, steps, time.thread_time))
print(json.dumps([{name: times[20:] for name, times in taken.items()}, 0]))
"""
_DRAWS = 400  # of the bootstrap


def interval(ratios: list[float]) -> str:
    """The median of pairs, and where it lies with 95 %."""
    drawn = sorted(statistics.median(random.choices(ratios, k=len(ratios))) for _ in range(_DRAWS))
    low, high = drawn[_DRAWS // 40], drawn[-_DRAWS // 40]
    return f"{statistics.median(ratios):.4f} [{low:.4f}, {high:.4f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--steps", type=int, default=600, help="of a round")
    parser.add_argument("--record", action=argparse.BooleanOptionalAction, default=True)
    arguments = parser.parse_args()
    speeds, _, episodes = measure(
        arguments.rounds, arguments.steps, is_recorded=arguments.record, loop=LOOP
    )
    if not episodes:
        sys.exit("the watched loop sent nothing: this measured no injection")
    report = Report("What being watched costs a script's thread, beside an unwatched Gymnasium")
    plain = speeds["plain"]
    report.add("plain, median", f"{statistics.median(plain):,.0f} steps/s", "1")
    control, watched = speeds["control"], speeds["watched"]
    again = [speed / of for speed, of in zip(control, plain, strict=True)]
    # Those before and after it: what others on the machine do changes slowly.
    beside = [2 * speed / (a + b) for speed, a, b in zip(watched, plain, control, strict=True)]
    for label, times, ratios in (
        ("plain again", control, again),
        ("under injection", watched, beside),
    ):
        speed = f"{statistics.median(times):,.0f} steps/s"
        report.add(f"{label}, median of pairs", speed, interval(ratios))
    report.print()


if __name__ == "__main__":
    main()
