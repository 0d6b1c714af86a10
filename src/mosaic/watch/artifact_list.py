"""Keeps the list of a script's artifacts in its run's analytics.json."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from mosaic.contracts.manifest import CheckpointEntry, TensorBoardArtifact, WandbArtifact
from mosaic.watch.artifact_scan import new_files
from mosaic.watch.artifacts import Catalogue, catalogue, common_folder, step_of, wandb_run
from mosaic.watch.config import ScriptConfig
from mosaic.watch.messages import Folder
from mosaic.worker import Run, write_manifest
from mosaic.worker.analytics import add_checkpoint

INTERVAL_S = 30.0


class ArtifactList:
    def __init__(self, run: Run[ScriptConfig], folder: Path) -> None:
        self._run = run
        self._folder = folder
        self._since = time.time()
        self._next_look = time.monotonic() + INTERVAL_S
        self._known = Catalogue()
        self._listed: dict[PurePosixPath, float] = {}  # checkpoints, and when they were written

    def refresh_when_due(self, named: Iterable[Folder], step: int) -> None:
        if time.monotonic() >= self._next_look:
            self.refresh(named, step)

    def refresh(self, named: Iterable[Folder], step: int) -> None:
        """`named` are folders the script's libraries told us; `step` is the newest known."""
        self._next_look = time.monotonic() + INTERVAL_S
        if self._run.directory is None:
            return
        found = _with_named(catalogue(new_files(self._folder, self._since)), named)
        if found == self._known:
            return
        self._known = found
        write_manifest(
            self._run,
            tensorboard=self._tensorboard(found),
            wandb=self._wandb(found),
            optuna_db_path=self._shown(found.studies[-1]) if found.studies else None,
            videos=tuple(map(self._shown, found.videos)),
            metadata={
                "tensorboard_folders": [self._shown(path) for path in found.tensorboard],
                "wandb_folders": [self._shown(path) for path in found.wandb],
            },
        )
        for file in found.checkpoints:
            if self._listed.get(file.path) != file.modified_at:
                self._listed[file.path] = file.modified_at
                at = step_of(file.path)
                add_checkpoint(
                    self._run,
                    CheckpointEntry(self._shown(file.path), step if at is None else at),
                )

    def _tensorboard(self, found: Catalogue) -> TensorBoardArtifact | None:
        folder = common_folder(found.tensorboard)
        return None if folder is None else TensorBoardArtifact(True, self._shown(folder))

    def _wandb(self, found: Catalogue) -> WandbArtifact | None:
        if not found.wandb:
            return None
        newest = found.wandb[-1]
        mode, run_id = wandb_run(newest)
        return WandbArtifact(
            enabled=True, mode=mode, run_id=run_id, relative_path=self._shown(newest)
        )

    def _shown(self, path: PurePosixPath) -> str:
        """Below the run's own directory it is relative, so that the directory can be moved."""
        own = self._run.directory
        return str(path if own is None or own not in Path(path).parents else path.relative_to(own))


def _with_named(found: Catalogue, named: Iterable[Folder]) -> Catalogue:
    """Together with folders that may lie anywhere; what is no folder is left out."""
    folders: dict[str, list[PurePosixPath]] = {"tensorboard": [], "wandb": []}
    for folder in named:
        if PurePosixPath(folder.path).is_absolute() and Path(folder.path).is_dir():
            folders[folder.kind].append(PurePosixPath(folder.path))
    return found._replace(
        tensorboard=tuple(dict.fromkeys((*found.tensorboard, *folders["tensorboard"]))),
        wandb=tuple(dict.fromkeys((*found.wandb, *folders["wandb"]))),
    )
