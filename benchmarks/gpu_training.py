"""Training speed on a GPU: eager, and with compile and CUDA graphs, beside the same machine's CPU.

CleanRL's figures are those of its unmodified scripts on one H200; LeanRL's are the speed-ups over
CleanRL that it publishes, on an H100. Without a GPU this says so and measures nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.report import Report
from benchmarks.training_speed import Stopwatch

WARM_UP = 2048  # steps before the clock starts: compiling, capturing, filling the buffer


@dataclass(frozen=True)
class Case:
    steps: int
    leanrl: str  # its speed-up
    cleanrl: float | None = None  # steps per second
    env_id: str = "HalfCheetah-v4"
    values: Mapping[str, Any] = field(default_factory=dict)

    def against(self, speed: float) -> str:
        if self.cleanrl is None:
            return f"CleanRL not measured, LeanRL {self.leanrl}"
        return f"{speed / self.cleanrl:.1f}x CleanRL ({self.cleanrl:.0f}), LeanRL {self.leanrl}"


OFF_POLICY = {"learning_starts": 1000}
CASES = {
    "ppo_continuous_action": Case(20 * 2048, "2.7x", 417.0),
    "td3_continuous_action": Case(12_000, "3.4x", 239.0, values=OFF_POLICY),
    "sac_continuous_action": Case(10_000, "5.7x", 147.0, values=OFF_POLICY),
    "ppo_atari": Case(64 * 1024, "6.7x (about 6,800/s)", env_id="PongNoFrameskip-v4"),
}
MODES: Mapping[str, Mapping[str, bool]] = {
    "CPU": {},
    "GPU eager": {"cuda": True},
    "GPU --compile": {"cuda": True, "compile": True},
}


def measure(algo: str, mode: str) -> float:
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import make_arguments
    from cleanrl_worker.registry import find_algorithm

    case = CASES[algo]
    given = {"env_id": case.env_id, "total_timesteps": case.steps, "save_model": False}
    given |= {**case.values, **MODES[mode]}
    algorithm = find_algorithm(algo)
    stopwatch = Stopwatch(WARM_UP)
    with tempfile.TemporaryDirectory() as folder:
        run_training(algorithm, make_arguments(algorithm, given), stopwatch, Path(folder))
    for note in stopwatch.notes:
        print(f"{algo} {mode}: {note}", file=sys.stderr)
    return stopwatch.steps_per_second()


def main() -> int:
    import torch

    if len(sys.argv) == 3:
        print(measure(sys.argv[1], sys.argv[2]))
        return 0
    if not torch.cuda.is_available():
        print("\n## Training speed on a GPU\n\nnot measured: there is no GPU here")
        return 0
    report = Report(f"Training speed on {torch.cuda.get_device_name()}, steps per second")
    for algo, case in CASES.items():
        for mode in MODES:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "benchmarks.gpu_training", algo, mode],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            if done.returncode:
                report.add(f"{algo} {case.env_id}, {mode}", "failed", "")
                continue
            speed = float(done.stdout.splitlines()[-1])
            what = f"{algo} {case.env_id}, {mode}"
            report.add(what, f"{speed:,.0f}/s", case.against(speed))
    report.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
