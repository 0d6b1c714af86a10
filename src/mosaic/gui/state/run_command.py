"""The command that would start a run again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.algorithm_info import AlgorithmInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.variable_secrecy import referenced_names
from mosaic.errors import ConfigError
from mosaic.front.training_config import Training, train_document

_PROGRAM = "mosaic"
_NAMED = ("algo", "env_id", "total_timesteps", "seed", "extras")


def command_of(record: RunRecord, algorithms: Sequence[AlgorithmInfo], home: Path | None) -> str:
    """`mosaic train …` where that makes the very same config, else `mosaic submit FILE`.

    `home` is None where it is the one everybody has.
    """
    program = [_PROGRAM, *(("--home", str(home)) if home is not None else ())]
    words = _train_words(record.config, algorithms)
    if words is None:
        words = ["submit", record.paths.get("config", "CONFIG.json")]
        environment = record.config.get("environment")
        for name in referenced_names(environment if isinstance(environment, dict) else {}):
            words += ["--env", name]  # its value is not stored, so it is taken from the shell
    return shlex.join([*program, *words])


def worker_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The worker's own config in a TrainRunConfig."""
    found = config.get("metadata", {}).get("worker", {}).get("config", {})
    return dict(found) if isinstance(found, dict) else {}


def training_of(config: Mapping[str, Any], algorithms: Sequence[AlgorithmInfo]) -> Training | None:
    """What a person wanted trained; None where it cannot be said as a training."""
    settings = worker_settings(config)
    worker, algo = config.get("entry_point"), settings.get("algo")
    algorithm = next((one for one in algorithms if (one.worker, one.name) == (worker, algo)), None)
    if algorithm is None or set(settings) - set(_NAMED):
        return None
    extras = dict(settings.get("extras", {}))
    parameters = extras.pop("algo_params", {})
    use_gpu = bool(extras.pop("cuda", False))
    resources = config.get("resources", {})
    seed = settings.get("seed")
    group = str(config.get("metadata", {}).get("group", ""))
    name = str(config.get("run_name", "")).removesuffix(f"-seed{seed}")
    retry = config.get("retry", {})
    try:
        return Training(
            algorithm,
            env_id=str(settings.get("env_id", "")),
            total_timesteps=settings.get("total_timesteps"),
            seed=seed,
            is_one_of_several=bool(group),
            parameters=parameters,
            extras={k: v for k, v in extras.items() if algorithm.extras.get(k) != v},
            name="" if name == f"{algo}-{settings.get('env_id', '')}" else name,
            cpus=resources.get("cpus"),
            memory_mb=resources.get("memory_mb"),
            use_gpu=use_gpu,
            priority=config.get("priority"),
            retries=max(0, int(retry.get("max_attempts", 1)) - 1),
            environment=dict(config.get("environment", {})),
        )
    except (ConfigError, TypeError, ValueError):
        return None


def _train_words(
    config: Mapping[str, Any], algorithms: Sequence[AlgorithmInfo]
) -> list[str] | None:
    training = training_of(config, algorithms)
    # Secrets are not kept, and what the command line has no word for must not get lost.
    if training is None or training.environment or training.extras:
        return None
    if train_document(training) != config:
        return None
    algorithm = training.algorithm
    words = ["train", algorithm.name, *([training.env_id] if training.env_id else [])]
    for option, value, default in (
        ("--total-timesteps", training.total_timesteps, None),
        ("--seed", None if training.is_one_of_several else training.seed, None),
        ("--seeds", training.seed if training.is_one_of_several else None, None),
        ("--name", training.name or None, None),
        ("--cpus", training.cpus, algorithm.cpus),
        ("--memory-mb", training.memory_mb, None),
        ("--priority", training.priority, None),
        ("--retries", training.retries, 0),
    ):
        if value is not None and value != default:
            words += [option, str(value)]
    for name, value in training.parameters.items():
        words += ["--set", f"{name}={value if isinstance(value, str) else json.dumps(value)}"]
    return [*words, "--cuda"] if training.use_gpu else words
