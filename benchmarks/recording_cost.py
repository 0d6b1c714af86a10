"""What recording the episodes costs our own trainings: steps per second with it and without.

One training per case goes through both in turn, a moment each, again and again, since two
processes of the same training differ by more than what is measured here. "Without" leaves the
recorder out of every step. The ratio is the median over the rounds, with its standard error: where
the machine is not quiet that is larger than the cost.

The direct figure hardly depends on the machine: what a recorded step takes beyond a plain one, as
measured with an environment that does nothing, times the steps per second; and the time that
keyframes and the recorder's thread took. `--rounds N` and names of cases choose less.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.report import Report
from benchmarks.training_speed import Stopwatch

PHASE_S = 1.5
WARM_UP = 3  # iterations


@dataclass(frozen=True)
class Case:
    algo: str
    env_id: str
    values: dict[str, int] = field(default_factory=dict)


CASES = {
    "ppo_cart_pole": Case("ppo", "CartPole-v1"),
    "dqn_cart_pole": Case("dqn", "CartPole-v1"),
    "half_cheetah": Case("ppo_continuous_action", "HalfCheetah-v5"),
    "breakout": Case("ppo_atari", "BreakoutNoFrameskip-v4", {"num_steps": 32, "update_epochs": 1}),
}


class TakingTurns(Stopwatch):
    """Changes between with and without at the end of an iteration, every PHASE_S or so."""

    def __init__(self, phases: int, turn: Callable[[bool], None]) -> None:
        super().__init__(0)
        self.speeds: list[float] = []  # with, without, with, ...
        self.recorded_s = 0.0
        self.recorded_steps = 0
        self._phases, self._turn = phases, turn
        self._began: tuple[float, int] | None = None
        self._iterations = 0

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        now = time.monotonic()
        self._iterations += 1
        if self._iterations < WARM_UP:
            return
        if self._began is not None:
            began, steps_before = self._began
            if now - began < PHASE_S:
                return
            self.speeds.append((steps - steps_before) / (now - began))
            if len(self.speeds) % 2:
                self.recorded_s += now - began
                self.recorded_steps += steps - steps_before
            self._turn(len(self.speeds) % 2 == 0)
        self._began = time.monotonic(), steps

    def should_stop(self) -> bool:
        return len(self.speeds) >= self._phases


@dataclass
class Spent:
    keyframes_s: float = 0.0
    thread_s: float = 0.0
    recorded_s: float = 0.0  # how long it was on
    steps: int = 0  # recorded, of all environments
    bytes: int = 0


def measure(case: Case, rounds: int) -> tuple[list[float], Spent, int]:
    """Ratios of the rounds, what was spent, and the number of environments."""
    import cleanrl_worker.kit.session as session
    from cleanrl_worker.kit.recording import BatchRecorder, RecordedBatch
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import make_arguments
    from cleanrl_worker.registry import find_algorithm

    spent = Spent()

    class TimedRecorder(BatchRecorder):
        def flush(self) -> None:
            before = time.thread_time()
            super().flush()
            spent.thread_s += time.thread_time() - before

    class TimedBatch(RecordedBatch):
        made: ClassVar[list[TimedBatch]] = []

        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            TimedBatch.made.append(self)

        def _take_keyframe(self) -> None:
            before = time.perf_counter()
            super()._take_keyframe()
            spent.keyframes_s += time.perf_counter() - before

    vars(session).update(BatchRecorder=TimedRecorder, RecordedBatch=TimedBatch)
    algorithm = find_algorithm(case.algo)
    given = {"env_id": case.env_id, "total_timesteps": 1_000_000_000, "threads": 1, **case.values}

    def turn(is_on: bool) -> None:
        (batch,) = TimedBatch.made
        if is_on:
            batch.__dict__.pop("step", None)
        else:
            batch.__dict__["step"] = batch._take_step

    training = TakingTurns(2 * rounds, turn)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "attempt-1.rec"
        arguments = make_arguments(algorithm, given)
        run_training(algorithm, arguments, training, None, recording=path)
        spent.bytes = path.stat().st_size
    spent.recorded_s, spent.steps = training.recorded_s, training.recorded_steps
    pairs = zip(training.speeds[::2], training.speeds[1::2], strict=True)
    return [on / off for on, off in pairs], spent, TimedBatch.made[0].num_envs


def recorded_step_s(case: Case, num_envs: int) -> float:
    """What recording adds to a step in the training's thread, but for keyframes: the least of
    several measurements."""
    import numpy as np

    from cleanrl_worker.environments.batch import Step
    from cleanrl_worker.environments.making import make_env_batch
    from cleanrl_worker.kit.recording import BatchRecorder, RecordedBatch

    count = 20_000
    with tempfile.TemporaryDirectory() as folder:
        envs: Any = make_env_batch(case.env_id, num_envs)
        envs.reset(0)
        flags = np.zeros(num_envs, np.bool_)
        step = Step(envs.observations, np.ones(num_envs, np.float32), flags, flags, {}, [])
        envs.step = lambda actions: step
        recorder = BatchRecorder(Path(folder) / "attempt-1.rec", 10**9, print)
        batch = RecordedBatch(envs, recorder, {"env_id": case.env_id})
        batch.begin(0, 0, False)
        shape = (num_envs, *(envs.action_space.shape or ()))
        actions = np.zeros(shape, recorder.given)

        def seconds(take: Any) -> float:
            before = time.perf_counter()
            for _ in range(count):
                take(actions)
            return (time.perf_counter() - before) / count

        seconds(batch.step)
        with_it = min(seconds(batch.step) for _ in range(7))
        without = min(seconds(envs.step) for _ in range(7))
        batch.close()
    return with_it - without


def report(name: str, rounds: int) -> None:
    case = CASES[name]
    ratios, spent, num_envs = measure(case, rounds)
    step_s = recorded_step_s(case, num_envs)
    table = Report(f"recording: {case.algo} on {case.env_id}, {num_envs} environments")
    error = statistics.stdev(ratios) / len(ratios) ** 0.5 if len(ratios) > 1 else float("nan")
    table.add(
        "speed with recording",
        f"{spent.steps / spent.recorded_s:,.0f} steps/s",
        f"{statistics.median(ratios):.3f} ± {error:.3f} of that without",
    )
    in_steps = spent.steps / num_envs * step_s
    shares = (in_steps, spent.keyframes_s, spent.thread_s)
    table.add(
        "time spent for it",
        f"{step_s * 1e9:.0f} ns per step; in all "
        + ", ".join(f"{share / spent.recorded_s:.2%}" for share in shares)
        + " in steps, keyframes, thread",
        f"{sum(shares) / spent.recorded_s:.2%} of the time",
    )
    per_step = spent.bytes / spent.steps
    table.add("on disk", f"{per_step:.2f} bytes per step", "")
    table.print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], default=[])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--alone", action="store_true", help="in this process")
    arguments = parser.parse_args()
    for name in arguments.cases or CASES:
        if arguments.alone:
            report(name, arguments.rounds)
            continue
        command = [sys.executable, "-m", "benchmarks.recording_cost", name, "--alone"]
        subprocess.run([*command, "--rounds", str(arguments.rounds)], check=True)


if __name__ == "__main__":
    main()
