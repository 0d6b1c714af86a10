"""run_training: what surrounds an algorithm's loop. Device, seeds, folders, logs, checkpoints."""

from __future__ import annotations

import contextlib
import itertools
import os
import platform
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch

import cleanrl_worker
from cleanrl_worker.arguments import Arguments
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.kit.checkpoints.loading import Checkpoint
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from cleanrl_worker.kit.reporting import Reporter, ScalarWriter
from cleanrl_worker.kit.run_names import run_name
from cleanrl_worker.kit.seeding import choose_device, choose_threads, seed_everything
from cleanrl_worker.kit.session import InitialState, Session
from cleanrl_worker.kit.space_check import check_spaces
from cleanrl_worker.kit.writers.tensorboard import TensorBoardWriter
from cleanrl_worker.kit.writers.wandb import WandbSettings, WandbWriter
from cleanrl_worker.launcher import load_module
from cleanrl_worker.registry import Algorithm
from mosaic.fastlane.settings import read_settings
from mosaic.files import make_directory, sync_directory
from mosaic.worker.config import config_to_dict

NOT_EXACT = "all state is kept, but a GPU does not repeat itself bit by bit"


@dataclass(frozen=True)
class TrainingFiles:
    """Where a training leaves what."""

    folder: Path  # runs/<env>__<exp>__<seed>__<timestamp>
    tensorboard: Path
    board: TensorBoardWriter
    wandb: WandbWriter | None = None

    @property
    def writers(self) -> tuple[ScalarWriter, ...]:
        return (self.board,) if self.wandb is None else (self.board, self.wandb)


def run_training(
    algorithm: Algorithm,
    arguments: Arguments,
    reporter: Reporter,
    directory: Path | None,
    *,
    checkpoint: Checkpoint | None = None,
    lineage: Mapping[str, Any] | None = None,
    folder: Path | None = None,
    warm_start: InitialState | None = None,
    run_id: str = "",
    on_files: Callable[[TrainingFiles], None] = lambda files: None,
    is_paused: Callable[[], bool] = lambda: False,
    recording: Path | None = None,
) -> None:
    """Train to the end, or until the reporter says stop; either leaves a checkpoint.

    Files go below `directory`; without one nothing is kept. `folder` is the run folder to go on
    in, for a training that crashed; otherwise a new one is made. `recording` is the file in which
    episodes are recorded.
    """
    module = load_module(algorithm)
    device = choose_device(arguments)
    exactness = check_environment(algorithm, arguments)
    seed_everything(arguments.seed, arguments.torch_deterministic)
    choose_threads(arguments, default=1)
    with ExitStack() as resources:
        writers: tuple[ScalarWriter, ...] = ()
        store, videos = None, None
        if directory is None:
            reporter.note("nothing is kept: without a run directory there are no checkpoints")
        else:
            files = _open_files(arguments, directory, folder, checkpoint, run_id, resources)
            writers = files.writers
            videos = directory / "videos" / files.folder.name
            if arguments.save_model:
                facts = describe(algorithm, arguments, exactness, lineage, run_id)
                store = CheckpointStore(
                    files.folder,
                    arguments.exp_name,
                    keep=arguments.keep_checkpoints,
                    description=facts,
                )
            on_files(files)
        reporter.note(f"device: {device}")
        reporter.note(f"resume: {exactness if device.type == 'cpu' else NOT_EXACT}")
        session = Session(
            arguments,
            device,
            reporter,
            writers,
            store,
            checkpoint,
            video_directory=videos,
            live_view=read_settings(os.environ),
            is_paused=is_paused,
            recording=recording,
            initial_state=warm_start,
        )
        module.train(arguments, session)


def check_environment(algorithm: Algorithm, arguments: Arguments) -> str:
    """Refuses what cannot be trained before anything is written; returns how exact a resume is."""
    envs = make_env_batch(arguments.env_id, 1, env_kwargs=arguments.env_kwargs)
    try:
        check_spaces(arguments.env_id, envs.observation_space, envs.action_space, algorithm)
        return envs.exactness
    finally:
        envs.close()


def describe(
    algorithm: Algorithm,
    arguments: Arguments,
    exactness: str,
    lineage: Mapping[str, Any] | None,
    run_id: str,
) -> dict[str, Any]:
    """What a checkpoint says about itself."""
    return {
        "algorithm": algorithm.name,
        "env_id": arguments.env_id,
        "seed": arguments.seed,
        "run_id": run_id,
        "arguments": config_to_dict(arguments),
        "lineage": dict(lineage or {}),
        "exactness": exactness,
        "versions": {
            "cleanrl_worker": cleanrl_worker.__version__,
            "python": platform.python_version(),
            "torch": str(torch.__version__),
            "numpy": np.__version__,
            "gymnasium": gymnasium.__version__,
        },
    }


def _open_files(
    arguments: Arguments,
    directory: Path,
    folder: Path | None,
    checkpoint: Checkpoint | None,
    run_id: str,
    resources: ExitStack,
) -> TrainingFiles:
    purge_from = None
    if folder is None:
        folder = _new_run_folder(arguments, directory)
    elif checkpoint is not None:
        # What the crashed attempt logged after its last checkpoint is done over.
        purge_from = checkpoint.step + 1
    values = config_to_dict(arguments)
    tensorboard = directory / arguments.tensorboard_dir if arguments.tensorboard_dir else folder
    board = TensorBoardWriter(tensorboard, purge_from=purge_from)
    resources.callback(board.close)
    board.hyperparameters(values)
    wandb = None
    if arguments.track:
        settings = WandbSettings(
            project=arguments.wandb_project_name,
            entity=arguments.wandb_entity,
            name=arguments.wandb_run_name or folder.name,
            run_id=run_id or None,
            config=values,
        )
        wandb = WandbWriter(directory, settings)
        resources.callback(wandb.close)
    return TrainingFiles(folder, tensorboard, board, wandb)


def _new_run_folder(arguments: Arguments, directory: Path) -> Path:
    """Never one that exists: two trainings that start within a second must not share theirs."""
    for timestamp in itertools.count(int(time.time())):
        name = run_name(arguments.env_id, arguments.exp_name, arguments.seed, timestamp)
        folder = directory / "runs" / name
        make_directory(folder.parent)
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            sync_directory(folder.parent)
            return folder
    raise AssertionError("unreachable")
