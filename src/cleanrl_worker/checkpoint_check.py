"""Whether a training can begin with a checkpoint, before anything is started. Light to import.

It goes by what the checkpoint says of itself and by the catalogue; where these do not tell, the
worker finds out when it loads the weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cleanrl_worker.catalogue import parameters_of
from cleanrl_worker.environments.catalogue import environments
from cleanrl_worker.kit.checkpoints.finding import locate_checkpoint, read_manifest
from mosaic.contracts.catalogue import EnvironmentInfo
from mosaic.contracts.learner import TrainRequest, read_request
from mosaic.errors import ConfigError

FIELD = "extras.warm_start_path"
# Parameters that decide what the networks look like, with what they are called in a sentence.
_SHAPING = {"network": "network", "n_atoms": "number of atoms"}
_SHAPE = re.compile(r"\(((?:\d+,? ?)+)\)")


def check_checkpoint(config: Mapping[str, Any]) -> None:
    """Raises ConfigError, or CheckpointError, naming what does not fit."""
    request = read_request(config)
    if not isinstance(request, TrainRequest) or not request.warm_start or request.algo is None:
        return
    path = Path(request.warm_start)
    trained = read_manifest(locate_checkpoint(path).state_folder).description
    refuse_other_algorithm(str(trained.get("algorithm")), request.algo, path)
    values = {**request.extras, **request.parameters}
    env_id = request.env_id or values.get("env_id")
    arguments = trained.get("arguments")
    old = dict(arguments) if isinstance(arguments, Mapping) else {}
    if not (old.get("env_kwargs") or values.get("env_kwargs")):
        _refuse_other_spaces(str(trained.get("env_id")), str(env_id))
    for name, title in _SHAPING.items():
        _refuse_other_value(request.algo, name, title, old, values)


def refuse_other_algorithm(trained_by: str, algo: str, path: Path) -> None:
    if trained_by != algo:
        raise ConfigError(
            f"The checkpoint {path.name} was trained by {trained_by}, not by {algo}",
            hint=f"train {trained_by}, begin with another checkpoint, or with none",
            field=FIELD,
        )


def _refuse_other_spaces(old_id: str, new_id: str) -> None:
    known = {item.id: item for item in environments()}
    old, new = known.get(old_id), known.get(new_id)
    if old_id == new_id or old is None or new is None:
        return
    for what, before, after in (
        ("observations", *map(_observations, (old, new))),
        ("actions", *map(_actions, (old, new))),
    ):
        if before != after:
            raise ConfigError(
                f"The checkpoint was trained on {old_id}, whose {what} are {before}; those of "
                f"{new_id} are {after}",
                hint=f"train on {old_id}, begin with another checkpoint, or with none",
                field=FIELD,
            )


def _refuse_other_value(
    algo: str, name: str, title: str, old: Mapping[str, Any], values: Mapping[str, Any]
) -> None:
    schema = parameters_of(algo).get(name)
    if schema is None or name not in old:
        return
    before, after = old[name], values.get(name, schema.get("default"))
    # "auto" is one of the others, which one only the environment tells.
    if before != after and "auto" not in (before, after):
        raise ConfigError(
            f"The checkpoint was trained with the {title} {before}, not with {after}",
            hint=f"set {name} to {before}, begin with another checkpoint, or with none",
            field=FIELD,
        )


def _observations(environment: EnvironmentInfo) -> str:
    return _shape(environment.observation_space)


def _actions(environment: EnvironmentInfo) -> str:
    space = environment.action_space
    return space if environment.action_kind == "discrete" else _shape(space)


def _shape(space: str) -> str:
    """`17 numbers`, `images of 4×84×84`: what a network sees of it."""
    found = _SHAPE.findall(space)
    if not found:
        return space
    sizes = [size.strip() for size in found[-1].split(",") if size.strip()]
    return f"{sizes[0]} numbers" if len(sizes) == 1 else f"images of {'×'.join(sizes)}"
