"""What a config with `source: upstream` means: which script, interpreter and flags."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from cleanrl_worker.config import CUDA_NAMES, CleanRLWorkerConfig, WorkerExtras
from cleanrl_worker.upstream.interpreter import ask_interpreter, interpreter_path, require_packages
from cleanrl_worker.upstream.script_reading import Parameter, Script, read_script
from cleanrl_worker.upstream.scripts import ScriptFolder, find_scripts
from cleanrl_worker.values import wants_cuda
from mosaic.worker import ConfigError

# What earlier scripts call it.
_FORMER_NAMES = {"env_id": "gym_id"}
_WORKER_EXTRAS = frozenset(item.name for item in fields(WorkerExtras))


@dataclass(frozen=True)
class UpstreamPlan:
    script: Script
    folder: ScriptFolder
    python: str
    flags: list[str]
    env_id: str | None
    seed: int | None
    total_steps: int | None  # None where only the script knows

    @property
    def command(self) -> tuple[str, ...]:
        return (self.python, str(self.script.path), *self.flags)


def plan_upstream(config: CleanRLWorkerConfig) -> UpstreamPlan:
    """Raises ConfigError or DependencyError for what could not run."""
    python = interpreter_path(config.extras.get("env_python"))
    folder = find_scripts(config.extras.get("upstream_path"), python)
    script = read_script(folder.find(config.algo or ""))
    chosen = choose_flags(config, script)
    # As it will look for them: in its own folder first, then beside it.
    places = [script.path.parent, *([] if folder.root is None else [folder.root])]
    require_packages(ask_interpreter(python, script.imports, places), script.imports, script.path)
    return UpstreamPlan(
        script=script,
        folder=folder,
        python=python,
        flags=chosen.words,
        env_id=value_of(script, chosen, "env_id"),
        seed=value_of(script, chosen, "seed"),
        total_steps=_whole(value_of(script, chosen, "total_timesteps")),
    )


def describe_upstream(config: CleanRLWorkerConfig) -> dict[str, Any]:
    return plan_facts(plan_upstream(config))


def plan_facts(plan: UpstreamPlan) -> dict[str, Any]:
    """What is known of the run beyond its config; part of `run_started` and the manifest."""
    return {
        "source": "upstream",
        "algo": plan.script.name,
        "script": str(plan.script.path),
        "generation": plan.script.generation,
        "python": plan.python,
        "env_id": plan.env_id,
        "seed": plan.seed,
        "total_steps": plan.total_steps,
        "total_timesteps": plan.total_steps,
        "flags": plan.flags,
    }


def _whole(value: Any) -> int | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and value >= 1 else None


class Setting(NamedTuple):
    where: str  # in the config
    name: str  # of the parameter
    value: Any


# Front ends always send these. Turning off what a script does not have changes nothing.
_HARMLESS = (
    Setting("extras.cuda", "cuda", False),
    Setting("extras.track_wandb", "track", False),
)


class ChosenFlags(NamedTuple):
    """Parameters with the values a config gives them."""

    values: dict[str, Any]
    words: list[str]


def choose_flags(config: CleanRLWorkerConfig, script: Script) -> ChosenFlags:
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
    return ChosenFlags(values, words)


def find_parameter(script: Script, name: str) -> Parameter | None:
    known = script.parameters
    return known.get(name) or known.get(_FORMER_NAMES.get(name, name))


def value_of(script: Script, chosen: ChosenFlags, name: str) -> Any:
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
        if name not in _WORKER_EXTRAS and name not in CUDA_NAMES:
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
