"""How fast tables learn, beside a plain loop of Q-learning over `gymnasium.step`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import gymnasium
import numpy as np

from benchmarks.report import Report
from spade_bdi_rl_worker.learning.compiling import IS_COMPILED
from spade_bdi_rl_worker.learning.pursuits import Pursuit, Steps
from spade_bdi_rl_worker.learning.runtime import QLearningRuntime
from spade_bdi_rl_worker.learning.settings import ALGORITHMS, LearningSettings
from spade_bdi_rl_worker.learning.world import World

RATE, DISCOUNT, EPSILON = 0.1, 0.99, 0.1
SUMMARY_EPISODES_PER_S = 20_000  # promised, on slippery FrozenLake 4x4
LONGEST_SLICE_S = 0.05
CASES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("4x4, not slippery", "FrozenLake-v1", {"is_slippery": False}),
    ("4x4 slippery", "FrozenLake-v1", {}),
    ("8x8 slippery", "FrozenLake8x8-v1", {}),
    ("Taxi", "Taxi-v4", {}),
)
START = (
    "import time; t = time.perf_counter();"
    "from spade_bdi_rl_worker.learning.runtime import QLearningRuntime;"
    "from spade_bdi_rl_worker.learning.settings import LearningSettings;"
    "from spade_bdi_rl_worker.learning.world import World;"
    "i = time.perf_counter() - t;"
    "r = QLearningRuntime(World.make('FrozenLake-v1'), LearningSettings(), 0);"
    "print(i, r.prepare())"
)


class Slices(NamedTuple):
    work_s: float  # the longest, by the clock of this thread
    wait_s: float  # the longest, by the clock on the wall: other programs may have run meanwhile


def plain_loop(env_id: str, env_kwargs: dict[str, Any], seconds: float) -> float:
    """Episodes per second, as everybody writes it."""
    env: Any = gymnasium.make(env_id, **env_kwargs)
    actions = int(env.action_space.n)
    table = np.zeros((int(env.observation_space.n), actions))
    random = np.random.default_rng(0)
    state, _ = env.reset(seed=0)
    episodes, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        ended = False
        while not ended:
            if random.random() < EPSILON:
                action = int(random.integers(actions))
            else:
                best = np.flatnonzero(table[state] == table[state].max())
                action = int(random.choice(best))
            following, reward, terminated, truncated, _ = env.step(action)
            target = reward + (0.0 if terminated else DISCOUNT * table[following].max())
            table[state, action] += RATE * (target - table[state, action])
            state, ended = following, terminated or truncated
        state, _ = env.reset()
        episodes += 1
    return episodes / (time.perf_counter() - started)


def learner(env_id: str, env_kwargs: dict[str, Any], **settings: Any) -> QLearningRuntime:
    values = {"learning_rate": RATE, "final_learning_rate": RATE, "discount": DISCOUNT}
    values |= {"epsilon": EPSILON, "final_epsilon": EPSILON}
    world = World.make(env_id, env_kwargs)
    learning = QLearningRuntime(world, LearningSettings(**{**values, **settings}), 0)
    learning.prepare()
    return learning


def our_loop(
    learning: QLearningRuntime,
    seconds: float,
    on_steps: Callable[[Steps], Any] | None = None,
) -> tuple[float, float, Slices]:
    """Episodes and steps per second, and the times between two questions whether to stop."""
    asked, worked = [time.perf_counter()], [time.thread_time()]

    def should_stop() -> bool:
        asked.append(time.perf_counter())
        worked.append(time.thread_time())
        return asked[-1] - asked[0] > seconds

    episodes = learning.episodes
    outcome = learning.pursue(Pursuit(episodes=10**9), on_steps=on_steps, should_stop=should_stop)
    took = asked[-1] - asked[0]
    slices = Slices(float(np.diff(worked).max()), float(np.diff(asked).max()))
    return (learning.episodes - episodes) / took, outcome.steps / took, slices


def start_times(cache: str) -> tuple[float, float]:
    """Seconds to import, and until the first step can be taken, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", START],
        env={**os.environ, "XDG_CACHE_HOME": cache},
        capture_output=True,
        text=True,
        check=True,
    )
    imported, prepared = map(float, done.stdout.split())
    return imported, prepared


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    report = Report(f"Q-learning, one core, {'numba' if IS_COMPILED else 'WITHOUT numba'}")
    is_fast = True
    for name, env_id, env_kwargs in CASES:
        theirs = plain_loop(env_id, env_kwargs, seconds)
        episodes, steps, slices = our_loop(learner(env_id, env_kwargs), seconds)
        theirs = (theirs + plain_loop(env_id, env_kwargs, seconds)) / 2  # before and after
        report.add(
            name,
            f"{episodes:,.0f} episodes/s, {steps:,.0f} steps/s; longest slice "
            f"{slices.work_s * 1000:.0f} ms of work, {slices.wait_s * 1000:.0f} ms of waiting",
            f"{episodes / theirs:,.0f}x a plain loop over gymnasium.step ({theirs:,.0f})",
        )
        if name == "4x4 slippery":
            is_fast = episodes >= SUMMARY_EPISODES_PER_S
            is_fast &= slices.work_s <= LONGEST_SLICE_S
    for algorithm in ALGORITHMS[1:]:
        episodes, steps, _ = our_loop(learner("FrozenLake-v1", {}, algorithm=algorithm), seconds)
        report.add(f"4x4 slippery, {algorithm}", f"{episodes:,.0f} episodes/s", "")
    _, steps, _ = our_loop(learner("FrozenLake-v1", {}), seconds, on_steps=lambda _: None)
    report.add("every step reported, as arrays", f"{steps:,.0f} steps/s", "")
    _, steps, _ = our_loop(learner("FrozenLake-v1", {}), seconds, on_steps=lambda all_: list(all_))
    report.add("every step reported, one by one", f"{steps:,.0f} steps/s", "")
    with tempfile.TemporaryDirectory() as cache:
        for what in ("first start: compiled", "later starts: kept kernels"):
            imported, prepared = start_times(cache)
            report.add(what, f"{prepared:.2f} s, imports {imported:.2f} s", "")
    report.print()
    return 0 if is_fast else 1


if __name__ == "__main__":
    sys.exit(main())
