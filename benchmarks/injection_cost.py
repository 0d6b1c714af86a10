"""What being watched costs a script: CartPole under injection, against the same loop without.

    python -m benchmarks.injection_cost [--rounds 600] [--steps 600] [--no-record]

One process under injection takes Gymnasium's own methods and ours in turns, in many short rounds:
two processes of the same program differ by a few per cent for as long as they live, which is more
than what is measured. A second plain contender says how far a ratio can be trusted. Nobody looks
at the frames: that is the case that must cost nothing. Actions alternate, so episodes are short,
and what an episode costs weighs more than in a training.

What our own threads take beside the script's is added to what is counted: they share one
interpreter. They work in batches, some time later, so it cannot be said for which round: their
share is measured afterwards, while the script is watched all the time, as it is in earnest: the
median over several seconds, since what others on the machine take away is counted as theirs, too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import Report
from mosaic.contracts.worker_environment import FASTLANE_SEGMENT
from mosaic.watch.bridge import Bridge
from mosaic.watch.config import ScriptConfig
from mosaic.watch.messages import Episode, Message
from mosaic.watch.variables import import_folders, script_variables

LOOP = """
import json, statistics, sys, threading, time
import gymnasium
from gymnasium.wrappers import OrderEnforcing, TimeLimit

rounds, steps = map(int, sys.argv[1:])
env = gymnasium.make("CartPole-v1")
env.reset(seed=0)

def original(method):
    while hasattr(method, "__wrapped__"):
        method = method.__wrapped__
    return method

places = [(kind, name) for kind in (gymnasium.Env, OrderEnforcing, TimeLimit)
          for name in ("step", "reset")]
ours = [(kind, name, getattr(kind, name)) for kind, name in places]
theirs = [(kind, name, original(method)) for kind, name, method in ours]
assert ours != theirs, "this process is not watched"

def seconds(methods, count):
    for kind, name, method in methods:
        setattr(kind, name, method)
    env.reset(seed=0)
    env.reset()  # what happens once per seed is not what a step costs
    step, reset = env.step, env.reset
    started = time.thread_time()
    for index in range(count):
        result = step(index & 1)
        if result[2] or result[3]:
            reset()
    return time.thread_time() - started

def our_seconds():
    idents = [t.ident for t in threading.enumerate() if t.name.startswith("mosaic-")]
    return sum(time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in idents)

WARM_UP = 150
taken = {"plain": [], "control": [], "watched": []}
for _ in range(rounds):
    for name, methods in (("plain", theirs), ("control", theirs), ("watched", ours)):
        seconds(methods, WARM_UP)  # the interpreter gets used to them again
        taken[name].append(seconds(methods, steps))
time.sleep(1)  # what is left of that
shares = []
for _ in range(15):
    before, mine, end = our_seconds(), 0, time.monotonic() + 1
    while time.monotonic() < end:
        mine += seconds(ours, steps)
    shares.append((our_seconds() - before) / mine)
share = statistics.median(shares)
print(json.dumps([taken, share]))
"""


def measure(
    rounds: int, steps: int, *, is_recorded: bool = True, loop: str = LOOP
) -> tuple[dict[str, list[float]], float, int]:
    """(steps/s of each round and contender, share of our threads, episodes that came).

    `loop` is the program, which prints the seconds of its rounds and that share.
    """
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, import_folders(None) as folders:
        pipe = Path(folder) / "pipe"
        os.mkfifo(pipe)
        episodes = 0

        def take(message: Message) -> None:
            nonlocal episodes
            episodes += isinstance(message, Episode)

        bridge = Bridge(pipe, take, lambda: None)
        variables = script_variables(
            os.environ,
            ScriptConfig(command=("python",)),
            bridge=str(pipe),
            import_folders=folders,
            recordings=folder if is_recorded else "",
        )
        variables[FASTLANE_SEGMENT] = str(Path(folder) / "segment")
        try:
            done = subprocess.run(
                [sys.executable, "-c", loop, str(rounds), str(steps)],
                env=variables,
                stdout=subprocess.PIPE,
                check=True,
            )
        finally:
            bridge.close()
    taken, share = json.loads(done.stdout)
    speeds = {name: [steps / time for time in times] for name, times in taken.items()}
    return speeds, share, episodes


def quantile(speeds: list[float], part: float) -> float:
    return sorted(speeds)[int(part * (len(speeds) - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=600)
    parser.add_argument("--steps", type=int, default=600, help="of a round")
    parser.add_argument(
        "--record",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="episodes are recorded, as they are by default",
    )
    arguments = parser.parse_args()
    rounds, steps = arguments.rounds, arguments.steps
    speeds, share, episodes = measure(rounds, steps, is_recorded=arguments.record)
    if not episodes:
        sys.exit("the watched loop sent nothing: this measured no injection")
    report = Report("What being watched costs a script (CartPole-v1, nobody looking)")
    target = 0.99 if arguments.record else 0.995
    # The faster rounds are those that others on the machine disturbed least.
    for part, what in ((0.95, "best 5 %"), (0.75, "best quarter"), (0.5, "median")):
        plain = quantile(speeds["plain"], part)
        report.add(f"plain, {what}", f"{plain:,.0f} steps/s", "1")
        for name, label in (("control", "plain again"), ("watched", "under injection")):
            speed = quantile(speeds[name], part)
            if name == "watched":
                speed /= 1 + share
            aim = f"; target ≥ {target}" if name == "watched" else ""
            report.add(f"{label}, {what}", f"{speed:,.0f} steps/s", f"{speed / plain:.4f}{aim}")
    report.add("our own threads", f"{share:.2%} of the script's time", "included above")
    report.print()


if __name__ == "__main__":
    main()
