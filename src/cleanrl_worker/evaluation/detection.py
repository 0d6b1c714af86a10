"""What a checkpoint was trained on, from the files beside it.

In this order: the manifest of the training state, the name of the run's folder, the config with
which the trainer launched the run. What a person says wins over all of them. Files are data, and
may come from anywhere: what would import a module or open a file has to be said by a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from cleanrl_worker.kit.checkpoints.finding import (
    MODEL_SUFFIX,
    find_checkpoint,
    locate_checkpoint,
    read_manifest,
)
from cleanrl_worker.kit.checkpoints.loading import refuse_foreign_arguments, refuse_foreign_module
from cleanrl_worker.kit.run_names import parse_run_name
from cleanrl_worker.registry import DEFAULT_ALGO_REGISTRY, find_algorithm
from mosaic.errors import CheckpointError, ConfigError
from mosaic.worker import load_config_file

DEFAULT_SEED = 1

Value = TypeVar("Value")


@dataclass(frozen=True)
class Evidence:
    """What one file says; None where it says nothing."""

    algo: str | None = None
    env_id: str | None = None
    seed: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PolicySource:
    """A checkpoint, and all that is needed to bring its policy back."""

    path: Path
    algo: str
    env_id: str
    seed: int  # of the training, unless another was asked for
    arguments: Mapping[str, Any]  # of the training, as far as they are known
    trained_env_id: str | None  # None: no file tells
    state_folder: Path | None  # None: there are weights only
    # Those of the training, unless others were given or it is to act in another environment.
    env_kwargs: Mapping[str, Any]


def detect_policy(
    path: Path,
    *,
    algo: str | None = None,
    env_id: str | None = None,
    seed: int | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> PolicySource:
    """Raises ConfigError naming what neither the files nor the caller tell."""
    path, state_folder = find_policy(path)
    found = list(gather_evidence(path, state_folder))
    trained_algo = _first(found, lambda item: item.algo)
    trained_env_id = _first(found, lambda item: item.env_id)
    seeds = (seed, _first(found, lambda item: item.seed), DEFAULT_SEED)
    arguments = _first(found, lambda item: item.arguments or None) or {}
    is_as_trained = env_id is None or trained_env_id in (None, env_id)
    if env_kwargs is None:
        env_kwargs = _mapping(arguments.get("env_kwargs")) if is_as_trained else {}
        refuse_foreign_arguments(env_kwargs, path)
    if env_id is None and trained_env_id is not None:
        refuse_foreign_module(trained_env_id, path)
    return PolicySource(
        path=path,
        algo=find_algorithm(algo or trained_algo or _refuse("algo", path)).name,
        env_id=env_id or trained_env_id or _refuse("env_id", path),
        seed=next(known for known in seeds if known is not None),
        arguments=arguments,
        trained_env_id=trained_env_id,
        state_folder=state_folder,
        env_kwargs=env_kwargs,
    )


def find_policy(path: Path) -> tuple[Path, Path | None]:
    """The file or folder to load from, and the training state's folder if there is one."""
    if path.is_dir():
        path = find_checkpoint(path) or _only_model(path) or path
    try:
        return path, locate_checkpoint(path).state_folder
    except CheckpointError:
        if not path.is_file():
            raise
        return path, None  # weights alone, as CleanRL leaves them


def gather_evidence(path: Path, state_folder: Path | None) -> Iterator[Evidence]:
    """The most reliable first."""
    if state_folder is not None:
        yield from_description(read_manifest(state_folder).description)
    for folder in path.absolute().parents:
        name = parse_run_name(folder.name)
        if name is not None:
            algo = name.exp if name.exp in DEFAULT_ALGO_REGISTRY else None
            yield Evidence(algo, name.env_id, name.seed)
    for file in trainer_configs(path):
        try:
            yield from_worker_config(load_config_file(file))
        except ConfigError:
            continue  # damaged, or not ours: there may be others


def from_description(description: Mapping[str, Any]) -> Evidence:
    return Evidence(
        _text(description.get("algorithm")),
        _text(description.get("env_id")),
        _whole_number(description.get("seed")),
        _mapping(description.get("arguments")),
    )


def from_worker_config(config: Mapping[str, Any]) -> Evidence:
    extras = _mapping(config.get("extras"))
    return Evidence(
        _text(config.get("algo")),
        _text(config.get("env_id")),
        _whole_number(config.get("seed")),
        {**extras, **_mapping(extras.get("algo_params"))},
    )


def trainer_configs(path: Path) -> Iterator[Path]:
    """`config-<RUN>.json` in the run's folder, or in `configs/` beside the folder of all runs."""
    for folder in path.absolute().parents:
        candidates = [
            folder / f"config-{folder.name}.json",
            folder.parent.parent / "configs" / f"config-{folder.name}.json",
        ]
        yield from (candidate for candidate in candidates if candidate.is_file())


def _only_model(folder: Path) -> Path | None:
    models = list(folder.glob(f"*{MODEL_SUFFIX}"))
    return models[0] if len(models) == 1 else None


def _first(evidence: list[Evidence], read: Callable[[Evidence], Value | None]) -> Value | None:
    return next((value for item in evidence if (value := read(item)) is not None), None)


def _whole_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _refuse(name: str, path: Path) -> str:
    raise ConfigError(
        f"'{name}': no file beside {path} tells with which {name} the policy was trained",
        hint=f"give {name}; it is detected in folders named <env>__<algo>__<seed>__<timestamp>",
        field=name,
    )
