"""Training speed, ours beside Stable-Baselines3 in the same run, at CleanRL's hyperparameters.

Each training has a process of its own. CleanRL's scripts run beside ours, too, where somebody has
them (see `cleanrl_scripts`); else its figures are those of a quiet machine of 2 cores. Learners
with a replay buffer are measured after learning has started.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import cleanrl_scripts
from benchmarks.report import Report


@dataclass(frozen=True)
class Case:
    algo: str
    env_id: str
    steps: int
    cleanrl: float  # steps per second on a quiet machine
    baseline: str = ""  # class in Stable-Baselines3; it has no twin for the others
    values: dict[str, Any] = field(default_factory=dict)
    baseline_steps: int = 0  # of either baseline; 0: as many as ours


OFF_POLICY = {"learning_starts": 1000}
CASES = (
    Case("ppo", "CartPole-v1", 150_000, 5308, "PPO", baseline_steps=30_000),
    Case("dqn", "CartPole-v1", 50_000, 4958, "DQN", baseline_steps=50_000),
    Case("c51", "CartPole-v1", 40_000, 2442, baseline_steps=40_000),
    Case("pqn", "CartPole-v1", 150_000, 7921, baseline_steps=50_000),
    Case("ppo_continuous_action", "HalfCheetah-v4", 40_960, 1262, "PPO", baseline_steps=8192),
    Case("rpo_continuous_action", "Hopper-v4", 30_720, 1151, baseline_steps=10_240),
    Case("td3_continuous_action", "Hopper-v4", 5000, 194, "TD3", OFF_POLICY, 2500),
    Case("ddpg_continuous_action", "Hopper-v4", 6000, 270, "DDPG", OFF_POLICY, 2500),
    Case("sac_continuous_action", "Hopper-v4", 4000, 114, "SAC", OFF_POLICY, 2000),
)


class Stopwatch:
    """A reporter that only looks at the clock."""

    def __init__(self, first_step: int) -> None:
        self._first_step = first_step
        self._first: tuple[float, int] | None = None
        self._last = (0.0, 0)
        self.notes: list[str] = []

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        self._last = (time.perf_counter(), steps)
        if self._first is None and steps >= self._first_step:
            self._first = self._last

    def steps_per_second(self) -> float:
        assert self._first is not None
        (first, first_step), (last, last_step) = self._first, self._last
        return (last_step - first_step) / (last - first)

    def should_stop(self) -> bool:
        return False

    def metric(self, name: str, value: float, step: int) -> None: ...
    def episode(self, **_: Any) -> None: ...
    def flush(self) -> None: ...
    def checkpoint_saved(self, *_: Any, **__: Any) -> None: ...
    def checkpoint_loaded(self, *_: Any, **__: Any) -> None: ...

    def note(self, text: str) -> None:
        self.notes.append(text)


def ours(case: Case) -> float:
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import make_arguments
    from cleanrl_worker.registry import find_algorithm

    algorithm = find_algorithm(case.algo)
    given = {"env_id": case.env_id, "total_timesteps": case.steps, **case.values}
    stopwatch = Stopwatch(case.values.get("learning_starts", 0))
    with tempfile.TemporaryDirectory() as folder:
        run_training(algorithm, make_arguments(algorithm, given), stopwatch, Path(folder))
    return stopwatch.steps_per_second()


def theirs(case: Case) -> float:
    """Stable-Baselines3 at the same hyperparameters, as fast as it goes on this machine."""
    import gymnasium
    import stable_baselines3
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.vec_env import DummyVecEnv

    torch.set_num_threads(1 if case.baseline in ("PPO", "DQN") else 2)
    is_cart_pole = case.env_id.startswith("CartPole")
    settings: dict[str, Any] = {}
    if case.baseline == "PPO" and is_cart_pole:
        settings = {"n_steps": 128, "batch_size": 128, "n_epochs": 4, "ent_coef": 0.01}
    if case.baseline == "DQN":
        settings = {"buffer_size": 10_000, "batch_size": 128, "train_freq": 10}
        settings |= {"learning_starts": 10_000, "target_update_interval": 500}
        settings |= {"policy_kwargs": {"net_arch": [120, 84]}}
    if case.baseline in ("TD3", "DDPG", "SAC"):
        settings = {"batch_size": 256, "learning_starts": 1000, "train_freq": 1}
        settings |= {"gradient_steps": 1, "policy_kwargs": {"net_arch": [256, 256]}}
    first_step = case.values.get("learning_starts", 0)
    marks: list[tuple[float, int]] = []

    class Mark(BaseCallback):
        def _on_step(self) -> bool:
            if self.num_timesteps >= first_step:
                marks.append((time.perf_counter(), self.num_timesteps))
            return True

    num_envs = 4 if case.baseline == "PPO" and is_cart_pole else 1
    envs = DummyVecEnv([lambda: gymnasium.make(case.env_id) for _ in range(num_envs)])
    model = getattr(stable_baselines3, case.baseline)("MlpPolicy", envs, **settings, device="cpu")
    model.learn(case.baseline_steps, callback=Mark())
    marks.append((time.perf_counter(), model.num_timesteps))
    (first, first_count), (last, last_count) = marks[0], marks[-1]
    return (last_count - first_count) / (last - first)


def measure(side: str, algo: str) -> float:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "benchmarks.training_speed", side, algo],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    if len(sys.argv) == 3:
        case = next(case for case in CASES if case.algo == sys.argv[2])
        print(json.dumps({"ours": ours, "theirs": theirs}[sys.argv[1]](case)))
        return 0
    chosen = sys.argv[1:] or [case.algo for case in CASES]
    report = Report("Training speed on a CPU, steps per second")
    for case in CASES:
        if case.algo not in chosen:
            continue
        # Before and after CleanRL, so that a machine that slows down meanwhile favours neither.
        speed = measure("ours", case.algo)
        if cleanrl_scripts.are_there():
            cleanrl = cleanrl_scripts.steps_per_second(
                case.algo,
                case.env_id,
                case.baseline_steps or case.steps,
                case.values.get("learning_starts"),
            )
            speed = (speed + measure("ours", case.algo)) / 2
            against = f"{speed / cleanrl:.1f}x CleanRL beside it ({cleanrl:,.0f})"
        else:
            against = f"{speed / case.cleanrl:.1f}x CleanRL elsewhere ({case.cleanrl:,.0f})"
        if case.baseline:
            other = measure("theirs", case.algo)
            against += f", {speed / other:.1f}x Stable-Baselines3 ({other:,.0f})"
        report.add(f"{case.algo} {case.env_id}", f"{speed:,.0f}/s", against)
    report.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
