"""From flags to an algorithm's arguments: finds its module and preset, parses and checks.

The algorithm then runs in this very process; there is no second one.
"""

from __future__ import annotations

import importlib
import re
import typing
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from cleanrl_worker.argument_parser import parse_flags
from cleanrl_worker.kit.arguments import Arguments
from cleanrl_worker.registry import Algorithm
from mosaic.contracts.schema_check import violations
from mosaic.worker import ConfigError, DependencyError, config_schema
from mosaic.worker.config_schema import config_to_dict

INSTALL = 'pip install "mosaic-rl[cleanrl]"'
_TRAINING_PACKAGES = ("torch", "numpy", "gymnasium", "safetensors", "tyro", "google_crc32c")
_FILE_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}")


class AlgorithmModule(Protocol):
    """What every module in `algorithms/` has."""

    ARGUMENTS: type[Arguments]

    def train(self, arguments: Any, session: Any) -> None: ...


def load_module(algorithm: Algorithm) -> AlgorithmModule:
    try:
        return typing.cast(AlgorithmModule, importlib.import_module(algorithm.module))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _TRAINING_PACKAGES:
            raise
        raise DependencyError(
            f"{algorithm.name} needs the package {error.name}, which is not installed",
            hint=INSTALL,
        ) from error


def default_arguments(algorithm: Algorithm) -> Arguments:
    """The module's defaults with the preset upon them."""
    arguments = load_module(algorithm).ARGUMENTS
    return arguments(**{"exp_name": algorithm.name, **algorithm.preset})


def restore_arguments(algorithm: Algorithm, values: Mapping[str, Any]) -> Arguments:
    """The arguments a checkpoint was trained with; what this version does not know is left out."""
    defaults = config_to_dict(default_arguments(algorithm))
    known = {name: value for name, value in values.items() if name in defaults}
    return checked_arguments(load_module(algorithm).ARGUMENTS, {**defaults, **known})


def parse_arguments(
    algorithm: Algorithm, flags: Sequence[str], base: Arguments | None = None
) -> Arguments:
    """Raises ConfigError naming the flag. `base` holds the values of flags that are not given."""
    base = base or default_arguments(algorithm)
    values = parse_flags(algorithm.name, flags, base)
    return checked_arguments(
        type(base), {**values, "exp_name": values["exp_name"] or algorithm.name}
    )


def checked_arguments(cls: type[Arguments], values: Mapping[str, Any]) -> Arguments:
    """Raises ConfigError naming the first value of a wrong type or out of its bounds."""
    arguments = cls(**values)
    schema = config_schema(cls)
    for violation in violations(config_to_dict(arguments), schema):
        described = schema["properties"].get(violation.path, {})
        raise ConfigError(
            f"'{violation.path}': {violation.message}",
            hint=violation.hint or described.get("description", ""),
            field=violation.path,
        )
    if not _FILE_NAME.fullmatch(arguments.exp_name):
        raise ConfigError(
            f"'exp_name': {arguments.exp_name[:80]!r} cannot be the name of a file",
            hint="letters, digits, '.', '_' and '-', beginning with a letter or a digit",
            field="exp_name",
        )
    return arguments
