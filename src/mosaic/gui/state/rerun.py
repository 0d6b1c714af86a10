"""Starting a run once more: as it was, edited, from its checkpoint, or in a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.learner import (
    EvaluateRequest,
    Mode,
    ResumeRequest,
    TrainRequest,
    extras_schemas,
    read_request,
    worker_settings,
)
from mosaic.contracts.options import flagged, of_mode
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.contracts.secrets import referenced_names
from mosaic.errors import ConfigError, RequestError
from mosaic.front.catalogue import find_algorithm
from mosaic.front.command_line import PROGRAM, submission_words, train_words
from mosaic.front.policy_config import resuming_document
from mosaic.front.references import PolicyReference, named_file, why_no_checkpoint
from mosaic.front.training_config import Training, find_recipe, train_document
from mosaic.gui.state.examples import EXAMPLES, Start, training_of_example
from mosaic.gui.state.targets import FormTarget, Operation, PolicyTarget

_FIRST = next(example for example in EXAMPLES if example.start is Start.TRAIN)
FIRST_TITLE = f"{_FIRST.title} (10 s)"


def first_training(algorithms: Sequence[AlgorithmInfo]) -> dict[str, Any]:
    """What somebody without any run is offered; raises where nothing can train it."""
    return training_of_example(_FIRST, find_algorithm(_FIRST.algo, list(algorithms)))


def same_config(record: RunRecord) -> dict[str, Any]:
    """The config as it was submitted, of a whole record; raises where values are missing."""
    if not record.config:
        raise RequestError(
            f"The config of {record.run_name} cannot be read any more",
            hint="start it from the form",
        )
    environment = record.config.get("environment")
    if missing := referenced_names(environment if isinstance(environment, dict) else {}):
        names = ", ".join(missing)
        config = record.paths.get("config", "CONFIG.json")
        command = shlex.join([PROGRAM, *submission_words(config, missing)])
        raise ConfigError(
            f"{record.run_name} needs the values of {names}, which are not stored with a run",
            hint="choose “Edit and resubmit” and give them again, or set them in a terminal and "
            f"run `{command}`",
        )
    return dict(record.config)


def policy_of(record: RunRecord) -> PolicyTarget:
    """Its latest checkpoint; raises where there is none."""
    if not record.checkpoint_uri or not record.paths:
        raise ConfigError(
            f"{record.run_name} has no checkpoint",
            hint=why_no_checkpoint(record),
        )
    return PolicyTarget(
        checkpoint=named_file(record, record.checkpoint_uri, "checkpoint_uri"),
        worker=record.worker,
        env_id=record.env_id,
        algo=str(worker_settings(record.config).get("algo", "")),
        run=record,
    )


def was_cut_short(record: RunRecord) -> bool:
    """One that was stopped knows how much is left; a finished one must be told how much more."""
    fraction = record.progress.fraction
    is_cut = record.outcome is not Outcome.SUCCEEDED or bool(record.stop_reason)
    return is_cut and fraction is not None and fraction < 1


def resume_config(record: RunRecord) -> dict[str, Any]:
    """The TrainRunConfig that trains the rest of a run that was stopped."""
    policy = policy_of(record)
    return resuming_document(PolicyReference(policy.worker, policy.checkpoint, record))


def edit_target(record: RunRecord) -> FormTarget:
    """The form with everything this run was started with."""
    values = form_values(record.config)
    request = read_request(worker_settings(record.config))
    if not isinstance(request, EvaluateRequest | ResumeRequest):
        runs_commands = bool(record.capabilities.get("runs_commands"))
        return FormTarget(Operation.SCRIPT if runs_commands else Operation.TRAIN, values=values)
    is_evaluation = isinstance(request, EvaluateRequest)
    policy = PolicyTarget(
        Path(request.checkpoint_path), record.worker, record.env_id, request.algo or ""
    )
    return FormTarget(Operation.EVALUATE if is_evaluation else Operation.RESUME, policy, values)


def warm_start_target(policy: PolicyTarget) -> FormTarget:
    """The form of a training that begins with the networks of this checkpoint."""
    request = TrainRequest(
        algo=policy.algo or None,
        env_id=policy.env_id or None,
        warm_start=str(policy.checkpoint),
    )
    settings = request.settings()
    return FormTarget(Operation.TRAIN, policy, {**settings.pop("extras"), **settings})


def form_values(config: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting by its own name, with those of the algorithm among them."""
    settings = worker_settings(config)
    extras = dict(settings.pop("extras", None) or {})
    parameters = dict(extras.pop("algo_params", None) or {})
    values = {**settings, **extras, **parameters}
    values["worker"] = config.get("entry_point")
    values["name"] = config.get("run_name")
    resources = config.get("resources", {})
    values["cpus"], values["memory_mb"] = resources.get("cpus"), resources.get("memory_mb")
    values["priority"] = config.get("priority")
    values["recipe"] = config.get("metadata", {}).get("recipe")
    if attempts := config.get("retry", {}).get("max_attempts"):
        values["retries"] = attempts - 1
    return {key: value for key, value in values.items() if value is not None}


def command_of(record: RunRecord, algorithms: Sequence[AlgorithmInfo], home: Path | None) -> str:
    """`mosaic train …` where that makes the very same config, else `mosaic submit FILE`.

    `home` is None where it is the one everybody has.
    """
    program = [PROGRAM, *(("--home", str(home)) if home is not None else ())]
    words = _train_words(record, algorithms)
    if words is None:
        environment = record.config.get("environment")
        names = referenced_names(environment if isinstance(environment, dict) else {})
        words = submission_words(record.paths.get("config", "CONFIG.json"), names)
    return shlex.join([*program, *words])


def training_of(config: Mapping[str, Any], algorithms: Sequence[AlgorithmInfo]) -> Training | None:
    """What a person wanted trained; None where it cannot be said as a training."""
    request = read_request(worker_settings(config))
    if not isinstance(request, TrainRequest) or request.others:
        return None
    algo, seed, env_id = request.algo, request.seed, request.env_id or ""
    named = (config.get("entry_point"), algo)
    algorithm = next((one for one in algorithms if (one.worker, one.name) == named), None)
    if algorithm is None:
        return None
    resources = config.get("resources", {})
    group = str(config.get("metadata", {}).get("group", ""))
    name = str(config.get("run_name", "")).removesuffix(f"-seed{seed}")
    retry = config.get("retry", {})
    try:
        return Training(
            algorithm,
            env_id=env_id,
            total_timesteps=request.total_timesteps,
            seed=seed,
            is_one_of_several=bool(group),
            parameters=request.parameters,
            extras=_own_extras(request, algorithm),
            name="" if name == f"{algo}-{env_id}" else name,
            cpus=resources.get("cpus"),
            memory_mb=resources.get("memory_mb"),
            use_gpu=request.use_gpu,
            priority=config.get("priority"),
            retries=max(0, int(retry.get("max_attempts", 1)) - 1),
            environment=dict(config.get("environment", {})),
            recipe=str(config.get("metadata", {}).get("recipe") or ""),
        )
    except (ConfigError, TypeError, ValueError):
        return None


def _own_extras(request: TrainRequest, algorithm: AlgorithmInfo) -> dict[str, Any]:
    """What the learner was told beyond what makes it this algorithm."""
    extras = dict(request.extras)
    for attribute, name in request.entries.items():
        if (value := getattr(request, attribute)) is not None:
            extras[name] = value
    return {name: value for name, value in extras.items() if algorithm.extras.get(name) != value}


def _train_words(record: RunRecord, algorithms: Sequence[AlgorithmInfo]) -> list[str] | None:
    training = training_of(record.config, algorithms)
    # Secrets are not kept, and what the command line has no word for must not get lost.
    if training is None or training.environment:
        return None
    schemas = of_mode(extras_schemas(record.capabilities.get("config_schema", {})), Mode.TRAIN)
    if not training.extras.keys() <= flagged(schemas).keys():
        return None
    if train_document(training) != record.config:
        return None
    algorithm = training.algorithm
    seed = training.seed
    parameters = dict(training.parameters)
    if training.recipe:
        known = find_recipe(algorithm, training.env_id, training.recipe).parameters
        parameters = {key: value for key, value in parameters.items() if known.get(key) != value}
    return train_words(
        algorithm.name,
        training.env_id,
        total_timesteps=training.total_timesteps,
        seed=None if training.is_one_of_several else seed,
        seeds=str(seed) if training.is_one_of_several and seed is not None else "",
        parameters=parameters,
        extras=training.extras,
        schemas=schemas,
        use_gpu=training.use_gpu,
        recipe=training.recipe,
        name=training.name,
        cpus=None if training.cpus == algorithm.cpus else training.cpus,
        memory_mb=training.memory_mb,
        priority=training.priority,
        retries=training.retries or None,
    )
