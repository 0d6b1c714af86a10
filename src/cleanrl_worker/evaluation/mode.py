"""The worker's mode `policy_eval`: plays batches of episodes and reports each."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.launcher import make_arguments
from cleanrl_worker.registry import find_algorithm
from cleanrl_worker.values import values_of
from mosaic.worker import Run, TensorBoardArtifact, to_json, write_manifest
from mosaic.worker.recording import recording_path

if TYPE_CHECKING:
    from cleanrl_worker.evaluation.batched import EvaluationPlan
    from cleanrl_worker.evaluation.detection import PolicySource
    from cleanrl_worker.evaluation.summary import BatchSummary

TENSORBOARD_FOLDER = "tensorboard_eval"


def find_policy_source(config: CleanRLWorkerConfig) -> PolicySource:
    """The policy and what it was trained on; what the config says wins over what files tell."""
    from cleanrl_worker.evaluation.detection import detect_policy

    override = config.extras.get("seed_override")
    seed = config.seed if override is None else override
    path = Path(config.extras["policy_path"])
    given = {**config.extras, **(config.extras.get("algo_params") or {})}
    return detect_policy(
        path,
        algo=config.algo,
        env_id=config.env_id,
        seed=seed,
        env_kwargs=given.get("env_kwargs"),
    )


def plan_evaluation(config: CleanRLWorkerConfig, source: PolicySource) -> EvaluationPlan:
    from cleanrl_worker.evaluation.batched import EvaluationPlan

    return EvaluationPlan(
        seed=source.seed,
        batch_size=config.extra("eval_batch_size"),
        episodes=config.extra("eval_episodes"),
        repeat=config.extra("eval_repeat"),
        deterministic=config.extra("eval_deterministic"),
        gamma=config.extra("eval_gamma"),
        max_episode_steps=config.extra("eval_max_episode_steps"),
        capture_video=config.extra("eval_capture_video"),
    )


def describe_evaluation(config: CleanRLWorkerConfig) -> dict[str, Any]:
    source = find_policy_source(config)
    plan = plan_evaluation(config, source)
    return {
        "mode": config.mode,
        "algo": source.algo,
        "env_id": source.env_id,
        "seed": source.seed,
        "policy_path": str(source.path),
        "tensorboard_dir": TENSORBOARD_FOLDER,
        "eval_batch_size": plan.batch_size,
        "eval_repeat": plan.repeat,
    }


def evaluate(run: Run[CleanRLWorkerConfig]) -> None:
    from cleanrl_worker.evaluation.batched import run_batched_evaluation
    from cleanrl_worker.kit.seeding import choose_device

    source = find_policy_source(run.config)
    arguments = make_arguments(find_algorithm(source.algo), values_of(run.config))
    write_manifest(run, metadata=describe_evaluation(run.config))
    with ExitStack() as resources:
        directory = run.directory
        if directory is None:  # nothing is kept then; the metrics are in the events
            directory = Path(resources.enter_context(tempfile.TemporaryDirectory()))
        run_batched_evaluation(
            source,
            plan_evaluation(run.config, source),
            directory,
            run,
            run_id=run.run_id,
            on_batch=lambda batch: report_batch(run, batch),
            device=choose_device(arguments),
            is_paused=lambda: run.control.is_paused,
            recording=recording_path(run) if arguments.record_episodes else None,
        )


def report_batch(run: Run[CleanRLWorkerConfig], batch: BatchSummary) -> None:
    from mosaic.contracts.evaluation_summary import FILE_NAME

    summary = to_json(asdict(batch))
    run.heartbeat(evaluation=summary)
    videos: tuple[str, ...] = ()
    if run.directory is not None:
        found = sorted((run.directory / "videos").rglob("*.mp4"))
        videos = tuple(str(path.relative_to(run.directory)) for path in found)
    write_manifest(
        run,
        tensorboard=TensorBoardArtifact(True, TENSORBOARD_FOLDER),
        videos=videos or None,
        evaluation_path=FILE_NAME,
        metadata={"evaluation": summary},
    )
