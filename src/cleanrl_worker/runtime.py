"""What a run of the worker does: train, resume, evaluate or play, in this very process.

Only a script of CleanRL itself is a process of its own.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanrl_worker.config import EVALUATE, INTERACTIVE, RESUME, UPSTREAM, CleanRLWorkerConfig
from cleanrl_worker.flags import render_flags
from cleanrl_worker.launcher import make_arguments
from cleanrl_worker.registry import Algorithm, find_algorithm
from cleanrl_worker.values import build_environment, build_live_view, recorded_extras, values_of
from mosaic.worker import Run, TensorBoardArtifact, write_manifest
from mosaic.worker.recording import recording_path

if TYPE_CHECKING:
    from cleanrl_worker.arguments import Arguments
    from cleanrl_worker.kit.checkpoints.loading import Checkpoint
    from cleanrl_worker.kit.training import TrainingFiles
    from cleanrl_worker.resuming import WarmStart


MANIFEST_INTERVAL_S = 30.0


WorkerRun = Run[CleanRLWorkerConfig]


@dataclass(frozen=True)
class TrainingPlan:
    """What a config means, all defaults and checkpoints looked up."""

    algorithm: Algorithm
    values: Mapping[str, Any]  # what the config says of the arguments
    arguments: Arguments
    checkpoint: Checkpoint | None = None
    lineage: Mapping[str, Any] | None = None
    note: str = ""
    folder: Path | None = None  # of a crashed attempt, to go on in
    warm_start: WarmStart | None = None


def check(config: CleanRLWorkerConfig) -> dict[str, Any]:
    """Refuses what cannot work, and says what would run; for dry runs and `run_started`."""
    if config.source == UPSTREAM:
        from cleanrl_worker.upstream.planning import describe_upstream

        return describe_upstream(config)
    if config.mode == EVALUATE:
        from cleanrl_worker.evaluation.mode import describe_evaluation

        return describe_evaluation(config)
    if config.mode == INTERACTIVE:
        from cleanrl_worker.interactive.mode import describe_play

        return describe_play(config)
    from cleanrl_worker.kit.seeding import choose_device
    from cleanrl_worker.kit.training import check_environment

    plan = plan_training(config)
    choose_device(plan.arguments)
    check_environment(plan.algorithm, plan.arguments)
    return plan_facts(plan)


def execute(run: WorkerRun) -> None:
    os.environ.update(build_environment(run.config))
    os.environ.update(build_live_view(run.config, os.environ))
    notes = run.config.extras.get("notes")
    write_manifest(run, notes=notes, metadata=recorded_extras(run.config))
    if run.config.source == UPSTREAM:
        from cleanrl_worker.upstream.running import run_upstream

        run_upstream(run)
    elif run.config.mode == EVALUATE:
        from cleanrl_worker.evaluation.mode import evaluate

        evaluate(run)
    elif run.config.mode == INTERACTIVE:
        from cleanrl_worker.interactive.mode import play

        play(run)
    else:
        train(run)


def train(run: WorkerRun) -> None:
    from cleanrl_worker.kit.training import run_training

    plan = plan_training(run.config, run.directory, run.attempt)
    write_manifest(run, metadata=plan_facts(plan))
    if plan.note:
        run.note(plan.note)
    manifest = ManifestUpdater(run)
    try:
        run_training(
            plan.algorithm,
            plan.arguments,
            run,
            run.directory,
            checkpoint=plan.checkpoint,
            lineage=plan.lineage,
            folder=plan.folder,
            warm_start=plan.warm_start,
            run_id=run.run_id,
            on_files=manifest.begin,
            is_paused=lambda: run.control.is_paused,
            recording=recording_path(run),
        )
    finally:
        manifest.end()


def plan_training(
    config: CleanRLWorkerConfig, directory: Path | None = None, attempt: int = 1
) -> TrainingPlan:
    """An attempt after the first goes on from the run's own newest checkpoint."""
    values = values_of(config, directory)
    if config.mode == RESUME:
        from cleanrl_worker.resuming import resume_from

        resumed = resume_from(Path(config.extras["checkpoint_path"]), values, config.algo)
        plan = TrainingPlan(
            resumed.algorithm,
            values,
            resumed.arguments,
            resumed.checkpoint,
            resumed.lineage,
            resumed.note,
        )
    else:
        algorithm = find_algorithm(config.algo or "")
        plan = TrainingPlan(algorithm, values, make_arguments(algorithm, values))
        if path := config.extras.get("warm_start_path"):
            from cleanrl_worker.resuming import warm_start_from

            warm_start = warm_start_from(Path(path), algorithm)
            plan = replace(plan, warm_start=warm_start, lineage=warm_start.lineage)
    if attempt > 1 and directory is not None:
        from cleanrl_worker.resuming import own_checkpoint, run_folder

        own = own_checkpoint(directory)
        if own is not None:
            return replace(plan, checkpoint=own, note="", folder=run_folder(own))
    return plan


def plan_facts(plan: TrainingPlan) -> dict[str, Any]:
    """What is known of the run beyond its config; part of `run_started` and the manifest."""
    arguments = plan.arguments
    found = {
        "algo": plan.algorithm.name,
        "module": plan.algorithm.module,
        "env_id": arguments.env_id,
        "seed": arguments.seed,
        "total_steps": arguments.total_timesteps,
        "total_timesteps": arguments.total_timesteps,
        "flags": render_flags(plan.values),
    }
    return found if plan.lineage is None else {**found, "lineage": dict(plan.lineage)}


class ManifestUpdater:
    """Keeps the files that a training writes listed in its run's analytics.json.

    It looks every now and then: W&B reports its address late, and videos appear with episodes.
    """

    def __init__(self, run: Run[Any]) -> None:
        self._run = run
        self._files: TrainingFiles | None = None
        self._written: dict[str, Any] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="manifest-updates", daemon=True)

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
        found = describe_files(self._run.directory, self._files)
        if found != self._written:
            write_manifest(self._run, **found)
            self._written = found

    def _watch(self) -> None:
        while not self._is_over.wait(MANIFEST_INTERVAL_S):
            with contextlib.suppress(OSError):  # a folder that went away under us
                self.refresh()


def describe_files(directory: Path | None, files: TrainingFiles) -> dict[str, Any]:
    assert directory is not None, "files are opened only where there is a directory"
    videos = sorted((directory / "videos").rglob("*.mp4"))
    return {
        "tensorboard": TensorBoardArtifact(True, path_in_run(directory, files.tensorboard)),
        "wandb": None if files.wandb is None else files.wandb.artifact(),
        "videos": tuple(path_in_run(directory, path) for path in videos) or None,
        "metadata": {"run_folder": path_in_run(directory, files.folder)},
    }


def path_in_run(directory: Path, path: Path) -> str:
    return str(path.relative_to(directory) if path.is_relative_to(directory) else path)
