"""What a run was asked to do, apart from its seed: which runs belong together, and what differs.

Pure functions over submitted configs (`RunRecord.config`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ABSENT = "(not set)"
_WORKER_CONFIG = "metadata.worker.config."
# Names and remarks say nothing about how a run learns.
_LABELS = ("run_name", "metadata.group", _WORKER_CONFIG + "extras.notes")
_SEED_KEY = re.compile(r"(.+\.)?seed")
_SEED_FLAG = re.compile(r"--?seed(=.*)?")
# What decides how a run learns; resources, retries and the like do not.
_RECIPE_PARTS = ("entry_point", "arguments", "metadata.worker")


@dataclass(frozen=True)
class ConfigDifference:
    """One parameter with its value in each group, in the order of the groups."""

    path: str
    values: tuple[str, ...]


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted paths to leaves, without seeds and labels; lists stay whole."""
    found: dict[str, Any] = {}
    _collect(config, "", found)
    return found


def _collect(value: Any, path: str, found: dict[str, Any]) -> None:
    if isinstance(value, Mapping):
        for key, item in value.items():
            _collect(item, f"{path}.{key}" if path else str(key), found)
    elif path not in _LABELS and not _SEED_KEY.fullmatch(path):
        found[path] = _without_seed_flags(value) if isinstance(value, list) else value


def _without_seed_flags(values: list[Any]) -> list[Any]:
    """`--seed 3` and `--seed=3` taken out of a command line."""
    kept: list[Any] = []
    skips_next = False
    for value in values:
        is_flag = isinstance(value, str) and _SEED_FLAG.fullmatch(value) is not None
        if not is_flag and not skips_next:
            kept.append(value)
        skips_next = is_flag and "=" not in value
    return kept


def recipe_key(config: Mapping[str, Any]) -> str:
    """Equal for runs that differ only in their seed."""
    parts = {path: value for path, value in flatten(config).items() if _is_recipe(path)}
    return json.dumps(parts, sort_keys=True, default=str)


def _is_recipe(path: str) -> bool:
    return any(path == part or path.startswith(f"{part}.") for part in _RECIPE_PARTS)


def seed_of(config: Mapping[str, Any]) -> int | None:
    """The seed of the worker's config, else the one on its command line."""
    worker = (config.get("metadata") or {}).get("worker") or {}
    settings = worker.get("config") or {}
    if isinstance(settings.get("seed"), int):
        return int(settings["seed"])
    words = [
        str(word)
        for part in (config.get("arguments"), worker.get("arguments"), settings.get("arguments"))
        for word in (part or ())
    ]
    for index, word in enumerate(words):
        if _SEED_FLAG.fullmatch(word):
            value = word.partition("=")[2] or (words[index + 1] if index + 1 < len(words) else "")
            return int(value) if re.fullmatch(r"-?\d+", value) else None
    return None


def worker_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    return dict(((config.get("metadata") or {}).get("worker") or {}).get("config") or {})


def differences(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[ConfigDifference]:
    """Every parameter that is not the same in all groups."""
    return [item for item in _table(groups) if len(set(item.values)) > 1]


def equalities(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[ConfigDifference]:
    """Every parameter that all groups share, with its one value."""
    return [
        ConfigDifference(item.path, item.values[:1])
        for item in _table(groups)
        if len(set(item.values)) == 1
    ]


def _table(groups: Sequence[Sequence[Mapping[str, Any]]]) -> list[ConfigDifference]:
    flat = [[flatten(config) for config in configs] for configs in groups]
    paths = sorted({path for configs in flat for config in configs for path in config})
    return [
        ConfigDifference(short_path(path), tuple(_shown(configs, path) for configs in flat))
        for path in paths
    ]


def short_path(path: str) -> str:
    """Parameters of the worker are what people look for: they need no long prefix."""
    return path.removeprefix(_WORKER_CONFIG).removeprefix("extras.algo_params.")


def _shown(configs: Iterable[Mapping[str, Any]], path: str) -> str:
    """The value of a group; several when its runs do not agree."""
    missing = object()
    values = (config.get(path, missing) for config in configs)
    texts = dict.fromkeys(ABSENT if value is missing else _text(value) for value in values)
    return ", ".join(texts)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
