"""Training speed on a GPU: eager, and with compile and CUDA graphs, beside the same machine's CPU.

CleanRL's figures are those of its unmodified scripts on one H200, HalfCheetah-v4; LeanRL's are the
speed-ups over CleanRL that it publishes. Without a GPU this says so and measures nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.report import Report
from benchmarks.training_speed import Stopwatch

ENV_ID = "HalfCheetah-v4"
WARM_UP = 2048  # steps before the clock starts: compiling, capturing, filling the buffer
CASES = {  # steps, CleanRL steps/s, LeanRL's speed-up
    "ppo_continuous_action": (20 * 2048, 417.0, 2.7),
    "td3_continuous_action": (12_000, 239.0, 3.4),
    "sac_continuous_action": (10_000, 147.0, 5.7),
}
MODES = {"CPU": [], "GPU eager": ["--cuda"], "GPU --compile": ["--cuda", "--compile"]}


def measure(algo: str, mode: str) -> float:
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import parse_arguments
    from cleanrl_worker.registry import find_algorithm

    steps = CASES[algo][0]
    flags = [f"--env-id={ENV_ID}", f"--total-timesteps={steps}", "--no-save-model", *MODES[mode]]
    if algo != "ppo_continuous_action":
        flags.append("--learning-starts=1000")
    algorithm = find_algorithm(algo)
    stopwatch = Stopwatch(WARM_UP)
    with tempfile.TemporaryDirectory() as folder:
        run_training(algorithm, parse_arguments(algorithm, flags), stopwatch, Path(folder))
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
    report = Report(f"Training speed on {torch.cuda.get_device_name()}, {ENV_ID}, steps per second")
    for algo, (_, cleanrl, leanrl) in CASES.items():
        for mode in MODES:
            done = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "benchmarks.gpu_training", algo, mode],
                env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
                stdout=subprocess.PIPE,
                text=True,
                check=False,
            )
            if done.returncode:
                report.add(f"{algo}, {mode}", "failed", "")
                continue
            speed = float(done.stdout.splitlines()[-1])
            against = f"{speed / cleanrl:.1f}x CleanRL ({cleanrl:.0f}), LeanRL {leanrl}x"
            report.add(f"{algo}, {mode}", f"{speed:,.0f}/s", against)
    report.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
