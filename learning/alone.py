"""`python -m learning.alone ALGO ENV STEPS SEED OUT [--flag…]`: one training without a daemon.

For machines that have nothing but torch and the environments, such as a borrowed GPU. Stops after
`LEARNING_SECONDS` of wall time; the result is one JSON file that `learning.collect` reads.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from learning.curves import last_returns_mean, thinned


class Recorder:
    """A reporter that keeps the returns and stops when the time is over."""

    def __init__(self, seconds: float) -> None:
        self.returns: list[tuple[int, float]] = []
        self.steps = 0
        self.notes: list[str] = []
        self._deadline = time.monotonic() + seconds

    def metric(self, name: str, value: float, step: int) -> None:
        self.steps = step
        if name == "charts/episodic_return":
            self.returns.append((step, value))

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        self.steps = steps

    def should_stop(self) -> bool:
        return time.monotonic() > self._deadline

    def note(self, text: str) -> None:
        self.notes.append(text)

    def episode(self, **_: Any) -> None: ...
    def checkpoint_saved(self, *_: Any, **__: Any) -> None: ...
    def checkpoint_loaded(self, *_: Any, **__: Any) -> None: ...


def main() -> int:
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import parse_arguments
    from cleanrl_worker.registry import find_algorithm
    from mosaic.files import atomic_write

    algo, env_id, steps, seed, out, *flags = sys.argv[1:]
    algorithm = find_algorithm(algo)
    told = [f"--env-id={env_id}", f"--total-timesteps={steps}", f"--seed={seed}", "--no-save-model"]
    recorder = Recorder(float(os.environ.get("LEARNING_SECONDS", "1e9")))
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        arguments = parse_arguments(algorithm, [*told, *flags])
        run_training(algorithm, arguments, recorder, Path(folder))
    duration_s = time.monotonic() - started
    result = {
        "experiment": f"{algo} {env_id}",
        "flags": flags,
        "steps": recorder.steps,
        "seed": {
            "seed": int(seed),
            "mean_return": last_returns_mean(recorder.returns),
            "duration_s": round(duration_s, 1),
            "steps_per_second": round(recorder.steps / duration_s, 1),
            "curve": thinned(recorder.returns),
        },
    }
    atomic_write(Path(out), json.dumps(result).encode())
    print(f"{result['experiment']} seed {seed}: {recorder.steps} steps, {result['seed']}"[:160])
    return 0


if __name__ == "__main__":
    sys.exit(main())
