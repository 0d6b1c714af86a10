"""A config as flags of an upstream script. What the script does not have is refused by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

from cleanrl_worker.flags import wants_cuda
from cleanrl_worker.upstream.parameters import Parameter
from cleanrl_worker.upstream.script_reading import Script
from cleanrl_worker.worker_arguments import NAMES_OF_CUDA, WorkerExtras
from mosaic.worker import ConfigError

if TYPE_CHECKING:
    from cleanrl_worker.config import CleanRLWorkerConfig

# What earlier scripts call it.
_FORMER_NAMES = {"env_id": "gym_id"}
_WORKER_EXTRAS = frozenset(item.name for item in fields(WorkerExtras))


class Setting(NamedTuple):
    where: str  # in the config
    name: str  # of the parameter
    value: Any


# Said by front ends whatever the script is: it cannot do what it shall not do.
_HARMLESS = (
    Setting("extras.cuda", "cuda", False),
    Setting("extras.track_wandb", "track", False),
)


class Chosen(NamedTuple):
    """Parameters with the values a config gives them."""

    values: dict[str, Any]
    words: list[str]


def choose_flags(config: CleanRLWorkerConfig, script: Script) -> Chosen:
    values: dict[str, Any] = {}
    given_as: dict[str, str] = {}
    words: list[str] = []
    for setting in _settings(config):
        parameter = find_parameter(script, setting.name)
        if parameter is None:
            if setting in _HARMLESS:
                continue
            raise _unknown(setting, script)
        if problem := parameter.problem(setting.value):
            raise _invalid(setting.where, problem, parameter.help)
        if parameter.name in given_as:
            message = f"is given as {given_as[parameter.name]} too"
            raise _invalid(setting.where, message, "give it once")
        given_as[parameter.name] = setting.where
        values[parameter.name] = setting.value
        words += parameter.words(setting.value)
    return Chosen(values, words)


def find_parameter(script: Script, name: str) -> Parameter | None:
    known = script.parameters
    return known.get(name) or known.get(_FORMER_NAMES.get(name, name))


def value_of(script: Script, chosen: Chosen, name: str) -> Any:
    """What the script will go by: as given, or its default; None where nobody knows."""
    parameter = find_parameter(script, name)
    if parameter is None:
        return None
    return chosen.values.get(parameter.name, parameter.schema.get("default"))


def _settings(config: CleanRLWorkerConfig) -> Iterator[Setting]:
    """All that is given and meant for the script."""
    extras = config.extras
    for name in ("env_id", "total_timesteps", "seed"):
        yield from _given(name, name, getattr(config, name))
    yield from _given("extras.cuda", "cuda", wants_cuda(extras))
    yield from _given("extras.track_wandb", "track", extras.get("track_wandb"))
    for name, value in extras.items():
        if name not in _WORKER_EXTRAS and name not in NAMES_OF_CUDA:
            yield from _given(f"extras.{name}", name, value)
    for name, value in (extras.get("algo_params") or {}).items():
        yield from _given(f"extras.algo_params.{name}", name.replace("-", "_"), value)


def _given(where: str, name: str, value: Any) -> Iterator[Setting]:
    if value is not None:
        yield Setting(where, name, value)


def _unknown(setting: Setting, script: Script) -> ConfigError:
    known = sorted(script.parameters)
    close = difflib.get_close_matches(setting.name, known, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"it has: {', '.join(known)}"
    return _invalid(setting.where, f"is no parameter of {script.path}", hint)


def _invalid(where: str, message: str, hint: str) -> ConfigError:
    text = f"'{where}' {message}" if message.startswith("is ") else f"'{where}': {message}"
    return ConfigError(f"Invalid CleanRLWorkerConfig: {text}", hint=hint, field=where)
