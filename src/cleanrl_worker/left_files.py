"""Keeps the list of what a training leaves in its run's analytics.json up to date."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.worker import Run, TensorBoardArtifact, write_manifest

if TYPE_CHECKING:
    from cleanrl_worker.kit.training import TrainingFiles

INTERVAL_S = 30.0


class LeftFiles:
    """Looks once in a while: W&B tells its address late, and videos come with the episodes."""

    def __init__(self, run: Run[Any]) -> None:
        self._run = run
        self._files: TrainingFiles | None = None
        self._written: dict[str, Any] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="left-files", daemon=True)

    def begin(self, files: TrainingFiles) -> None:
        self._files = files
        self.refresh()
        self._thread.start()

    def end(self) -> None:
        if self._files is not None:
            self._is_over.set()
            self._thread.join()
            self.refresh()

    def refresh(self) -> None:
        assert self._files is not None
        found = describe(self._run.directory, self._files)
        if found != self._written:
            write_manifest(self._run, **found)
            self._written = found

    def _watch(self) -> None:
        while not self._is_over.wait(INTERVAL_S):
            with contextlib.suppress(OSError):  # a folder that went away under us
                self.refresh()


def describe(directory: Path | None, files: TrainingFiles) -> dict[str, Any]:
    assert directory is not None, "files are opened only where there is a directory"
    videos = sorted((directory / "videos").rglob("*.mp4"))
    return {
        "tensorboard": TensorBoardArtifact(True, shown_path(directory, files.tensorboard)),
        "wandb": None if files.wandb is None else files.wandb.artifact(),
        "videos": tuple(shown_path(directory, path) for path in videos) or None,
        "metadata": {"run_folder": shown_path(directory, files.folder)},
    }


def shown_path(directory: Path, path: Path) -> str:
    return str(path.relative_to(directory) if path.is_relative_to(directory) else path)
