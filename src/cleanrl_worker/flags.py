"""Values as the flags of a command line, for people to read and to try; nothing reads them back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cleanrl_worker.typed_values import text_of


def render_flags(values: Mapping[str, Any]) -> list[str]:
    return [flag(name, value) for name, value in values.items()]


def flag(name: str, value: Any) -> str:
    """`--num-envs=4`, `--anneal-lr`, `--no-anneal-lr`."""
    option = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{option}" if value else f"--no-{option}"
    return f"--{option}={text_of(value)}"
