"""Trainings for tests that kill them: imported by the fork server, run in its children."""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path
from typing import Any

from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.training import run_training
from cleanrl_worker.launcher import make_arguments
from cleanrl_worker.registry import find_algorithm


class SilentReporter:
    """Trains to the end and tells nobody."""

    def should_stop(self) -> bool:
        return False

    def metric(self, name: str, value: float, step: int) -> None: ...
    def episode(self, **_: Any) -> None: ...
    def progress(self, *, steps: int, total_steps: int | None = None) -> None: ...
    def flush(self) -> None: ...

    def checkpoint_saved(self, *_: Any, **__: Any) -> None: ...
    def checkpoint_loaded(self, *_: Any, **__: Any) -> None: ...
    def note(self, text: str) -> None: ...


def train_in_process(
    algo: str, values: dict[str, Any], directory: str, is_resuming: bool, recording: str = ""
) -> None:
    algorithm = find_algorithm(algo)
    checkpoint = folder = None
    if is_resuming:
        path = find_checkpoint(Path(directory))
        assert path is not None
        checkpoint, folder = load_checkpoint(path), path.parent
    run_training(
        algorithm,
        make_arguments(algorithm, values),
        SilentReporter(),
        Path(directory),
        checkpoint=checkpoint,
        folder=folder,
        recording=Path(recording) if recording else None,
    )
