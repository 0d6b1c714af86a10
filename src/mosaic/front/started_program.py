"""A config can start any program: what it would run, for people to see first. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

_SCRIPT_WORKERS = ("script", "mosaic.watch", "mosaic.watch.cli")
_PYTHON_WORDS = ("python", "python3")
# Extras with which a worker runs a program of somebody else, see SOURCE_ENTRY_POINT_GROUP.
_FOREIGN_PROGRAMS = ("env_python", "upstream_path")


def started_program(config: Mapping[str, Any]) -> list[str]:
    """The command of a run that is no worker's own program; empty for any other.

    Whatever else is wrong with the config is for the daemon to say.
    """
    entry_point = str(config.get("entry_point", ""))
    worker = _object(_object(config, "metadata"), "worker")
    if entry_point in _SCRIPT_WORKERS or worker.get("module") in _SCRIPT_WORKERS:
        return _words(_object(worker, "config").get("command"))
    extras = _object(_object(worker, "config"), "extras")
    if foreign := [str(extras[name]) for name in _FOREIGN_PROGRAMS if extras.get(name)]:
        return [*foreign, str(_object(worker, "config").get("algo", ""))]
    is_interpreter = entry_point in _PYTHON_WORDS or PurePosixPath(entry_point).is_absolute()
    if not is_interpreter or worker.get("module"):
        return []
    script = worker.get("script")
    return [
        entry_point,
        *([str(script)] if script else []),
        *(_words(worker.get("arguments")) if script else []),
        *_words(config.get("arguments")),
    ]


def preview(config: Mapping[str, Any]) -> list[str]:
    """What would run, where, and with which variables, for people."""
    settings = _object(_object(_object(config, "metadata"), "worker"), "config")
    lines = [f"command: {shlex.join(started_program(config))}"]
    if settings.get("cwd"):
        lines.append(f"folder:  {settings['cwd']}")
    if names := sorted(map(str, _object(config, "environment"))):
        lines.append(f"sets:    {', '.join(names)}")
    return lines


def _object(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


def _words(value: Any) -> list[str]:
    return [str(word) for word in value] if isinstance(value, list) else []
