"""`python -m learning.alone ALGO ENV STEPS SEED OUT [--flag…]`: one training without a daemon.

For machines that have nothing but torch and the environments, such as a borrowed GPU. Stops after
`LEARNING_SECONDS` of wall time or at SIGTERM. The result is one JSON file that `learning.collect`
reads; it is there from the first episodes on, because a borrowed machine may be gone at any time.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from learning.curves import last_returns_mean, thinned

PAUSE_S = 10.0  # between two states of the file


class Recorder:
    """A reporter that keeps the returns, stores them and stops when the time is over."""

    def __init__(self, path: Path, algo: str, env_id: str, seed: int, flags: list[str]) -> None:
        self.returns: list[tuple[int, float]] = []
        self.steps = 0
        self._path = path
        self._what = {"experiment": f"{algo} {env_id}", "flags": flags}
        self._seed = seed
        self._started = time.monotonic()
        self._deadline = self._started + float(os.environ.get("LEARNING_SECONDS", "1e9"))
        self._next_store = self._started
        signal.signal(signal.SIGTERM, self._stop)

    def store(self) -> None:
        from mosaic.files import atomic_write

        duration_s = time.monotonic() - self._started
        if not self.returns:
            return
        seed = {
            "seed": self._seed,
            "mean_return": last_returns_mean(self.returns),
            "duration_s": round(duration_s, 1),
            "steps_per_second": round(self.steps / duration_s, 1),
            "curve": thinned(self.returns),
        }
        result = {**self._what, "steps": self.steps, "seed": seed}
        atomic_write(self._path, json.dumps(result).encode())
        print(
            f"{self._what['experiment']} seed {self._seed}: {duration_s:.0f} s, "
            f"{self.steps} steps, return {seed['mean_return']:.2f}",
            flush=True,
        )

    def metric(self, name: str, value: float, step: int) -> None:
        self.steps = step
        if name == "charts/episodic_return":
            self.returns.append((step, value))

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        self.steps = steps
        if time.monotonic() >= self._next_store:
            self.store()
            self._next_store = time.monotonic() + PAUSE_S

    def should_stop(self) -> bool:
        return time.monotonic() > self._deadline

    def _stop(self, *_: object) -> None:
        self._deadline = 0.0

    def note(self, text: str) -> None:
        print(text, flush=True)

    def flush(self) -> None: ...
    def episode(self, **_: Any) -> None: ...
    def checkpoint_saved(self, *_: Any, **__: Any) -> None: ...
    def checkpoint_loaded(self, *_: Any, **__: Any) -> None: ...


def main() -> int:
    from cleanrl_worker.command_line import parse_flags
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import make_arguments
    from cleanrl_worker.registry import find_algorithm

    algo, env_id, steps, seed, out, *flags = sys.argv[1:]
    algorithm = find_algorithm(algo)
    told = {"env_id": env_id, "total_timesteps": steps, "seed": seed, "save_model": False}
    recorder = Recorder(Path(out), algo, env_id, int(seed), flags)
    with tempfile.TemporaryDirectory() as folder:
        arguments = make_arguments(algorithm, {**told, **parse_flags(algorithm, flags)})
        run_training(algorithm, arguments, recorder, Path(folder))
    recorder.store()
    return 0


if __name__ == "__main__":
    sys.exit(main())
