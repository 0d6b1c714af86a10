"""Reads a worker's config from a JSON file and from `--set key=value`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mosaic.errors import ConfigError


def load_config_file(path: Path) -> dict[str, Any]:
    """The worker's config: the whole document, or `metadata.worker.config` of a TrainRunConfig."""
    data = _read_strict_json(path)
    if not isinstance(data, dict):
        raise ConfigError(
            f"{path}: a JSON object was expected, not {type(data).__name__}",
            hint='for example {"env_id": "CartPole-v1"}',
            path=str(path),
        )
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("worker"), dict):
        return data
    config = metadata["worker"].get("config", {})
    if not isinstance(config, dict):
        raise ConfigError(
            f"{path}: metadata.worker.config must be a JSON object",
            field="metadata.worker.config",
            path=str(path),
        )
    return config


def apply_assignments(
    data: dict[str, Any], assignments: Iterable[str], schema: dict[str, Any]
) -> dict[str, Any]:
    """A copy of the config with every `key=value` applied; dots lead into nested objects."""
    result: dict[str, Any] = json.loads(json.dumps(data))
    for text in assignments:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise ConfigError(
                f"--set {text!r} is not of the form key=value", hint="write --set seed=1", field=key
            )
        *parents, name = key.split(".")
        target, known = result, schema
        for parent in parents:
            known = known.get("properties", {}).get(parent, {})
            target = target.setdefault(parent, {})
            if not isinstance(target, dict):
                raise ConfigError(f"--set {key}: '{parent}' is not an object", field=key)
        target[name] = _parse(value, known.get("properties", {}).get(name, {}))
    return result


def _parse(text: str, schema: dict[str, Any]) -> Any:
    """JSON where it is JSON, text otherwise; a field that only takes text gets the text."""
    expected = schema.get("type")
    if expected == "string" or text in schema.get("enum", ()):
        return text
    if text in ("True", "False") and expected == "boolean":
        return text == "True"
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text


def _read_strict_json(path: Path) -> Any:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The config file {path} cannot be read: {error.strerror}",
            hint="check the path after --config",
            path=str(path),
        ) from error
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply", path=str(path)) from None
    except ValueError as error:
        raise ConfigError(
            f"{path} is not valid JSON: {error}", hint="check quotes and commas", path=str(path)
        ) from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
