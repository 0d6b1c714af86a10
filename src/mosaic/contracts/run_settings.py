"""The settings of a run by their short names, for tables and filters. Pure.

A config is a tree; a column of a table is one name. So `learning_rate` stands for
`metadata.worker.config.extras.algo_params.learning_rate`. What a worker's config says itself comes
before its extras, and these before the parameters of the algorithm.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mosaic.contracts.learner import worker_settings
from mosaic.contracts.secrets import is_secret_name

Setting = str | int | float | bool | None

MOST_SETTINGS = 200
LONGEST_NAME = 100
LONGEST_VALUE = 200
# Their contents are taken for settings of the run itself.
_TRANSPARENT = ("extras", "extras.algo_params")


def settings_of(config: Mapping[str, Any]) -> dict[str, Setting]:
    """Without those whose name says that they are secret."""
    found: dict[str, Setting] = {}
    for name, value in _leaves(worker_settings(config), ""):
        if len(found) == MOST_SETTINGS:
            break
        is_secret = any(is_secret_name(part) for part in name.split("."))
        if name and len(name) <= LONGEST_NAME and not is_secret:
            found.setdefault(name, _plain(value))
    return found


def _leaves(values: Mapping[str, Any], path: str) -> Iterator[tuple[str, Any]]:
    """Those of this level first."""
    deeper = []
    for key, value in values.items():
        place = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping):
            deeper.append((place, value))
        else:
            yield _short(place), value
    for place, inner in deeper:
        yield from _leaves(inner, place)


def _short(place: str) -> str:
    for prefix in reversed(_TRANSPARENT):
        if place.startswith(f"{prefix}."):
            return place[len(prefix) + 1 :]
    return place


def _plain(value: Any) -> Setting:
    if isinstance(value, str):
        return value[:LONGEST_VALUE]
    if value is None or isinstance(value, bool | int | float):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)[:LONGEST_VALUE]


def setting_text(value: Setting) -> str:
    """As people write it: words for truth, no quotes around text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    return value
