"""The TrainRunConfig of what is done with a checkpoint: evaluated, or trained further. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mosaic.contracts.consent import field_at, foreign_arguments, names_module
from mosaic.contracts.run_record import Origin
from mosaic.errors import ConfigError
from mosaic.front.training_config import run_document

if TYPE_CHECKING:
    from mosaic.front.policy_reference import PolicyReference

MEMORY_MB = 2048


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
    given = {"env_id": env_id or own_id, "algo": algo}
    settings = {
        "extras": {
            "mode": "policy_eval",
            "policy_path": str(policy.checkpoint),
            **({"env_kwargs": own_kwargs} if own_kwargs else {}),
            **extras,
        },
        **{key: value for key, value in given.items() if value is not None},
    }
    return _document(policy, name or f"eval-{policy.label}", settings, use_gpu)


def resuming_document(
    policy: PolicyReference,
    *,
    total_timesteps: int | None = None,
    parameters: Mapping[str, Any] | None = None,
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
    settings: dict[str, Any] = {
        "extras": {"mode": "resume_training", "checkpoint_path": str(policy.checkpoint)}
    }
    env_id, env_kwargs = _own_environment(policy)
    if env_id is not None:
        settings["env_id"] = env_id
    chosen = {**({"env_kwargs": env_kwargs} if env_kwargs else {}), **(parameters or {})}
    if chosen:
        settings["extras"]["algo_params"] = chosen
    if total_timesteps is not None:
        settings["total_timesteps"] = total_timesteps
    return _document(policy, name or f"{policy.label}-resumed", settings, use_gpu)


def _own_environment(policy: PolicyReference) -> tuple[str | None, dict[str, Any] | None]:
    """The id and the arguments of a run's environment, as far as a worker takes them from a person
    only: nobody is asked again about what they started themselves.
    """
    run = policy.run
    if run is None or run.origin is Origin.IMPORTED:
        return None, None
    extras = field_at(run.config, "metadata.worker.config.extras") or {}
    kwargs = field_at(extras, "algo_params.env_kwargs") or field_at(extras, "env_kwargs")
    kwargs = kwargs if isinstance(kwargs, dict) and foreign_arguments(kwargs) else None
    return run.env_id if names_module(run.env_id, "env_id") else None, kwargs


def _document(
    policy: PolicyReference, name: str, settings: dict[str, Any], use_gpu: bool
) -> dict[str, Any]:
    parent = policy.run
    if use_gpu:
        settings["extras"]["cuda"] = True
    return run_document(
        policy.worker,
        name,
        settings,
        cpus=parent.cpus if parent else 1,
        expected_memory_mb=max(parent.memory_mb if parent else 0, MEMORY_MB),
        gpus=int(use_gpu),
        metadata={"lineage": {"parent_run": parent.run_id}} if parent else None,
    )
