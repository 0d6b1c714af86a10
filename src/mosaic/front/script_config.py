"""The TrainRunConfig of a script that is watched: any command, in the shell it was typed in."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.contracts.options import OptionSchemas
from mosaic.errors import ConfigError, RequestError
from mosaic.front.training_config import run_document
from mosaic.watch import get_worker_metadata
from mosaic.watch.command import command_label, resolve_command, search_path, working_folder

# What makes the command find the same programs and libraries as in the shell it was typed in.
PASSED_ON = (
    *("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
    *("PYTHONPATH", "LD_LIBRARY_PATH"),
)
# The daemon sets them for its workers. A script must compute what it computes without us, and
# the order of sums depends on them; so they stay as they are in the shell, unless --cpus is given.
THREAD_COUNTS = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    *("OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
)


@dataclass(frozen=True)
class WatchedScript:
    words: tuple[str, ...]
    # Of the worker's config, those that shall not have their default; see `script_options`.
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    cpus: int | None = None
    memory_mb: int | None = None  # a limit; None: none
    use_gpu: bool = False
    max_duration_s: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def script_options() -> OptionSchemas:
    """What the worker that watches scripts can be told."""
    found: OptionSchemas = get_worker_metadata().config_schema["properties"]
    return found


def script_document(script: WatchedScript, environ: Mapping[str, str]) -> dict[str, Any]:
    """`environ` are the variables of the shell, or of whatever else the person works in."""
    if not script.words:
        raise RequestError(
            "COMMAND is missing", hint="for example `mosaic watch -- python train.py --seed 1`"
        )
    refuse_secrets(script.words)
    folder = working_folder(script.settings.get("cwd"))
    python = script.settings.get("env_python")
    # Not resolved: an interpreter knows its virtual environment by the name it has there.
    env_python = str(Path(python).expanduser().absolute()) if python else None
    path = search_path(environ.get("PATH", os.defpath), env_python)
    command = resolve_command(list(script.words), folder=folder, path=path, env_python=env_python)
    variables = shell_variables(environ, is_limited=script.cpus is not None)
    variables.update(script.environment)
    capabilities = get_worker_metadata()
    settings: dict[str, Any] = {**script.settings, "command": list(command), "cwd": str(folder)}
    if env_python is not None:
        settings["env_python"] = env_python
    if script.cpus is None:
        settings["unset_variables"] = [name for name in THREAD_COUNTS if name not in variables]
    document = run_document(
        capabilities.worker_type,
        script.name or command_label(list(script.words)),
        settings,
        cpus=script.cpus or capabilities.cpu_cores,
        memory_mb=script.memory_mb,
        gpus=int(script.use_gpu),
        environment=variables,
    )
    if script.max_duration_s is not None:
        document["schedule"] = {"max_duration_seconds": script.max_duration_s}
    return document


def preview(document: Mapping[str, Any]) -> list[str]:
    """What such a document would run, where, and which variables it sets."""
    settings = document["metadata"]["worker"]["config"]
    lines = [f"command: {shlex.join(settings['command'])}", f"folder:  {settings['cwd']}"]
    if names := sorted(document["environment"]):
        lines.append(f"sets:    {', '.join(names)}")
    return lines


def shell_variables(environ: Mapping[str, str], *, is_limited: bool) -> dict[str, str]:
    names = PASSED_ON if is_limited else (*PASSED_ON, *THREAD_COUNTS)
    return {name: environ[name] for name in names if environ.get(name)}


def refuse_secrets(words: Sequence[str]) -> None:
    """A command is stored with its run, and everybody on the machine can see it in `ps`."""
    from mosaic.contracts.secret_text import url_passwords
    from mosaic.contracts.secrets import secret_word

    if any(map(url_passwords, words)):
        raise ConfigError(
            "The command holds a URL with a password, and commands are stored",
            hint="pass the URL as a variable: --env NAME, and `bash -c '… \"$NAME\"'` where "
            "the script takes it from nowhere else",
            field="command",
        )
    index = secret_word(words)
    if index is not None:
        name, equals, _ = words[index].partition("=")
        raise ConfigError(
            f"{name} looks like a secret, and commands are stored",
            hint="pass it as a variable: --env NAME, and `bash -c '… "
            f'{name}{equals or " "}"$NAME"\'` where the script takes it from nowhere else',
            field="command",
        )
