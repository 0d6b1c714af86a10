"""What documents of an imported run are allowed to say in this home.

Nothing in them is started or believed; they are shown, and read by front ends. So each must be a
document of the kind that its name says, without the values of environment variables. What is none
is left out, and a note in the run's history says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.variable_secrecy import redact_config
from mosaic.errors import ConfigError
from mosaic.files import atomic_write_json
from mosaic.foreign_json import read_plain_json

_MAX_REASON = 200


def take_over_configs(folder: Path, run_id: str) -> list[str]:
    """Rewrites the configs in this folder; returns what a person should know about them."""
    notes = []
    for path in sorted(folder.iterdir()):
        try:
            document = read_plain_json(path)
            taken = _without_secrets(document, run_id)
        except (OSError, ValueError) as error:
            path.unlink()
            notes.append(f"{path.name} was left out: {_short(error)}")
            continue
        if taken != document:
            atomic_write_json(path, taken)
        if path.name == f"config-{run_id}.json" and (problem := _config_problem(taken)):
            notes.append(f"its config would not be accepted here: {problem}")
    return notes


def _without_secrets(document: Any, run_id: str) -> dict[str, Any]:
    environment = document.get("environment", {}) if isinstance(document, dict) else None
    is_sound = isinstance(environment, dict) and all(
        isinstance(value, str) for value in environment.values()
    )
    if not is_sound:
        raise ValueError("it is no object whose environment has a text for each name")
    return redact_config(document, run_id)


def _config_problem(document: dict[str, Any]) -> str:
    try:
        parse_run_config(document)
    except ConfigError as error:
        return _short(error)
    return ""


def usable_capabilities(capabilities: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The document itself, or an empty one and why; front ends build forms from it."""
    if not capabilities:
        return {}, []
    try:
        msgspec.convert(capabilities, WorkerCapabilities)
    except (ValueError, RecursionError) as error:
        return {}, [f"its capabilities were left out: {_short(error)}"]
    return capabilities, []


def _short(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return text[:_MAX_REASON]
