"""The TrainRunConfig of what is done with a checkpoint: evaluate, resume or play it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.contracts.consent import foreign_arguments, names_module
from mosaic.contracts.learner import (
    EvaluateRequest,
    LearnerRequest,
    PlayRequest,
    ResumeRequest,
    read_request,
    worker_settings,
)
from mosaic.contracts.run_record import Origin
from mosaic.errors import ConfigError
from mosaic.front.training_config import run_document

if TYPE_CHECKING:
    from mosaic.contracts.run_record import RunRecord
    from mosaic.contracts.worker_info import WorkerInfo
    from mosaic.front.references import PolicyReference

POLICY_MEMORY_MB = 2048


def evaluation_document(
    policy: PolicyReference,
    extras: Mapping[str, Any],
    *,
    env_id: str | None = None,
    algo: str | None = None,
    name: str | None = None,
    use_gpu: bool = False,
) -> dict[str, Any]:
    own_id, own_kwargs = _own_environment(policy) if env_id is None else (None, None)
    request = EvaluateRequest(
        policy=str(policy.checkpoint),
        env_id=env_id or own_id,
        algo=algo,
        use_gpu=use_gpu,
        extras={**({"env_kwargs": own_kwargs} if own_kwargs else {}), **extras},
    )
    return _policy_document(policy, name or f"eval-{policy.label}", request)


def resuming_document(
    policy: PolicyReference,
    *,
    total_timesteps: int | None = None,
    parameters: Mapping[str, Any] | None = None,
    extras: Mapping[str, Any] | None = None,
    name: str | None = None,
    use_gpu: bool = False,
) -> dict[str, Any]:
    """Raises ConfigError for a run that goes on by itself."""
    if policy.run is not None and not policy.run.is_over:
        raise ConfigError(
            f"The run {policy.run.run_name} is still running",
            hint=f"stop it first: mosaic stop {policy.run.run_id}",
            field="run",
        )
    env_id, env_kwargs = _own_environment(policy)
    request = ResumeRequest(
        checkpoint=str(policy.checkpoint),
        env_id=env_id,
        total_timesteps=total_timesteps,
        parameters={**({"env_kwargs": env_kwargs} if env_kwargs else {}), **(parameters or {})},
        use_gpu=use_gpu,
        extras=extras or {},
    )
    return _policy_document(policy, name or f"{policy.label}-resumed", request)


def _own_environment(policy: PolicyReference) -> tuple[str | None, dict[str, Any] | None]:
    """The id and the arguments of a run's environment, as far as a worker takes them from a person
    only: nobody is asked again about what they started themselves.
    """
    run = policy.run
    if run is None or run.origin is Origin.IMPORTED:
        return None, None
    request = read_request(worker_settings(run.config))
    kwargs = dict(request.env_kwargs) if request is not None else {}
    env_id = run.env_id if names_module(run.env_id, "env_id") else None
    return env_id, kwargs if foreign_arguments(kwargs) else None


def _policy_document(policy: PolicyReference, name: str, request: LearnerRequest) -> dict[str, Any]:
    parent = policy.run
    return run_document(
        policy.worker,
        name,
        request.settings(),
        cpus=parent.cpus if parent else 1,
        expected_memory_mb=max(parent.memory_mb if parent else 0, POLICY_MEMORY_MB),
        gpus=int(request.use_gpu),
        metadata={"lineage": {"parent_run": parent.run_id}} if parent else None,
    )


HUMAN, POLICY = "human", "policy"
MIN_SPEED, MAX_SPEED = 0.25, 8.0
_MEMORY_ALONE_MB = 1024  # without a policy there is no network


def play_document(
    worker: str,
    env_id: str,
    policy_path: Path | str | None = None,
    seed: int = 1,
    *,
    play: Mapping[str, Any] | None = None,
    algo: str = "",
    parent_run: str = "",
    env_kwargs: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """`play`: how it begins, see `play_fields`."""
    request = PlayRequest(
        env_id=env_id,
        seed=seed,
        algo=algo or None,
        policy=None if policy_path is None else str(policy_path),
        play=dict(play_fields(HUMAN) if play is None else play),
        extras={"frames": "none", **({"env_kwargs": dict(env_kwargs)} if env_kwargs else {})},
    )
    metadata: dict[str, Any] = {"purpose": "play"}
    if parent_run:
        metadata["lineage"] = {"parent_run": parent_run}
    return run_document(
        worker,
        f"play-{env_id}",
        request.settings(),
        cpus=1,
        expected_memory_mb=_MEMORY_ALONE_MB if policy_path is None else POLICY_MEMORY_MB,
        metadata=metadata,
    )


def play_fields(
    controller: str,
    *,
    fps: float | None = None,
    is_turn_based: bool = False,
    idle: Sequence[Any] = (),
    is_restarting: bool = False,
    idle_limit_s: float = 0.0,
) -> dict[str, Any]:
    """How such a run is to be played. `idle`: the actions that are taken in turn while nobody does
    anything. Without `fps` it is as fast as in real life. After `idle_limit_s` without a command
    it ends by itself; 0: never."""
    fields: dict[str, Any] = {
        "controller": controller,
        "turn_based": is_turn_based,
        "idle": list(idle),
        "auto_restart": is_restarting,
        "idle_limit_s": idle_limit_s,
    }
    if fps is not None:
        fields["fps"] = fps
    return fields


def is_play_session(record: RunRecord) -> bool:
    """Whether the run is such a session; the record has to have its config."""
    metadata = record.config.get("metadata")
    return isinstance(metadata, dict) and metadata.get("purpose") == "play"


def workers_for_play(workers: Iterable[WorkerInfo]) -> list[WorkerInfo]:
    """Workers in whose environments a person can play; those that can start come first."""
    able = [
        worker
        for worker in workers
        if worker.capabilities is not None and worker.capabilities.supports_play
    ]
    return sorted(able, key=lambda worker: not worker.is_ready)
