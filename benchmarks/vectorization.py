"""Steps per second of several environments: Gymnasium's two vector classes against ours.

    python -m benchmarks.vectorization [--seconds 1.0]

All see the same pre-processing and the same kind of random actions and reset within the step. The
contenders take turns in short bursts, so a noisy machine hits them alike; of each the median
burst counts. The ratios are what to compare.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from benchmarks.report import Report
from cleanrl_worker.environments.families import family_of
from cleanrl_worker.environments.family_imports import import_family
from cleanrl_worker.environments.making import make_env_batch

CASES = (
    ("CartPole-v1", 4),
    ("CartPole-v1", 8),
    ("HalfCheetah-v4", 1),
    ("HalfCheetah-v4", 8),
    ("MiniGrid-Empty-8x8-v0", 8),
    ("PongNoFrameskip-v4", 8),
)
BURSTS = 9


def make_usual(env_id: str) -> gymnasium.Env[Any, Any]:
    """The environment as CleanRL's scripts wrap it."""
    import_family(family_of(env_id), env_id)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = gymnasium.make(env_id)
    if env_id.startswith("MiniGrid"):
        from minigrid.wrappers import ImgObsWrapper

        return ImgObsWrapper(env)
    if "NoFrameskip" in env_id:
        env = gymnasium.wrappers.AtariPreprocessing(env, terminal_on_life_loss=True)
        return gymnasium.wrappers.FrameStackObservation(env, 4)
    return gymnasium.wrappers.RecordEpisodeStatistics(env)


def random_actions(space: Any, num_envs: int) -> list[Any]:
    random = np.random.default_rng(0)
    if isinstance(space, gymnasium.spaces.Discrete):
        return list(random.integers(space.n, size=(256, num_envs)))
    return list(random.uniform(-1, 1, size=(256, num_envs, *space.shape)).astype(np.float32))


def timed_burst(step: Callable[[Any], object], actions: list[Any], seconds: float) -> float:
    """Vector steps per second."""
    count = 0
    began = time.perf_counter()
    while (elapsed := time.perf_counter() - began) < seconds:
        for _ in range(4):
            step(actions[count % len(actions)])
            count += 1
    return count / elapsed


def measure(env_id: str, num_envs: int, seconds: float) -> tuple[dict[str, float], str]:
    """Environment steps per second of each contender, and how ours stepped."""
    makers = [lambda: make_usual(env_id)] * num_envs
    mode = AutoresetMode.SAME_STEP
    ours = make_env_batch(env_id, num_envs)
    with contextlib.ExitStack() as stack:
        stack.callback(ours.close)
        ours.reset(1)
        sync = SyncVectorEnv(makers, autoreset_mode=mode)
        stack.callback(sync.close)
        sync.reset(seed=1)
        # A training that has started threads must not fork; ours starts its processes anew, too.
        parallel = AsyncVectorEnv(makers, autoreset_mode=mode, context="forkserver")
        stack.callback(parallel.close)
        parallel.reset(seed=1)
        actions = random_actions(ours.action_space, num_envs)
        contenders = {
            "SyncVectorEnv": sync.step,
            "AsyncVectorEnv": parallel.step,
            "ours": ours.step,
        }
        rates: dict[str, list[float]] = {name: [] for name in contenders}
        for _ in range(BURSTS):
            for name, step in contenders.items():
                rates[name].append(timed_burst(step, actions, seconds / BURSTS) * num_envs)
    return {name: statistics.median(taken) for name, taken in rates.items()}, ours.vectorization


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each contender")
    seconds = parser.parse_args().seconds
    report = Report("stepping several environments")
    for env_id, num_envs in CASES:
        rates, vectorization = measure(env_id, num_envs, seconds)
        for name, rate in rates.items():
            ratio = f"{rate / rates['SyncVectorEnv']:.2f} of SyncVectorEnv"
            shown = f"{name} ({vectorization})" if name == "ours" else name
            report.add(f"{env_id} × {num_envs}, {shown}", f"{rate:,.0f} steps/s", ratio)
    report.print()


if __name__ == "__main__":
    main()
