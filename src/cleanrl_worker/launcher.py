"""An algorithm and its arguments: finds its module and preset, puts values upon them, and checks.

The algorithm then runs in this very process; there is no second one.
"""

from __future__ import annotations

import difflib
import importlib
import re
import typing
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.registry import Algorithm
from cleanrl_worker.typed_values import typed
from mosaic.contracts.schema_check import shortened, violations
from mosaic.worker import ConfigError, DependencyError, config_schema
from mosaic.worker.config import config_fields, config_to_dict

INSTALL = 'pip install "mosaic-rl[cleanrl]"'
_TRAINING_PACKAGES = ("torch", "numpy", "gymnasium", "safetensors", "google_crc32c")
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


def make_arguments(
    algorithm: Algorithm, values: Mapping[str, Any], base: Arguments | None = None
) -> Arguments:
    """The defaults, or `base`, with the values upon them. Raises ConfigError naming the value."""
    base = base or default_arguments(algorithm)
    hints = typing.get_type_hints(type(base))
    arguments = {item.name: getattr(base, item.name) for item in config_fields(type(base))}
    for name in values:
        if name not in arguments:
            raise unknown_parameter(name, algorithm.name, arguments)
    for name, value in values.items():
        try:
            arguments[name] = typed(value, hints[name])
        except ValueError:
            raise invalid_value(type(base), name, shortened(value)) from None
    arguments["exp_name"] = arguments["exp_name"] or algorithm.name
    return checked_arguments(type(base), arguments)


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


def unknown_parameter(name: str, algo: str, known: Iterable[str]) -> ConfigError:
    names = list(known)
    close = difflib.get_close_matches(name, names, n=3)
    return ConfigError(
        f"'{name[:80]}' is not a parameter of {algo}",
        hint=f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(names)}",
        field=name,
    )


def invalid_value(cls: type[Arguments], name: str, shown: str, hint: str = "") -> ConfigError:
    schema = config_schema(cls)["properties"][name]
    expected = schema.get("enum") or schema.get("type", "something else")
    wanted = expected if isinstance(expected, str) else " or ".join(map(str, expected))
    return ConfigError(
        f"'{name}': {shown} is not a valid value; {wanted} was expected",
        hint=hint or schema.get("description", ""),
        field=name,
    )
