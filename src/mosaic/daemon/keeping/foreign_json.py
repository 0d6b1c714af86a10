"""JSON documents of a run that came from elsewhere: bounded, and of values every reader knows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

# As much as a config that is submitted here may have.
MAX_DOCUMENT_BYTES = 4_000_000
MAX_DEPTH = 64


def read_foreign_json(path: Path) -> Any:
    """Raises ValueError, which says what is wrong, or OSError."""
    with path.open("rb") as file:
        return parse_foreign_json(file.read(MAX_DOCUMENT_BYTES + 1))


def parse_foreign_json(data: bytes) -> Any:
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ValueError(f"it has more than {MAX_DOCUMENT_BYTES:,} bytes")
    try:
        value = json.loads(data, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check(value)
    return value


def _check(value: Any) -> None:
    waiting = [(value, 1)]
    while waiting:
        item, depth = waiting.pop()
        if isinstance(item, str):
            if "\0" in item or any("\ud800" <= c <= "\udfff" for c in item):
                raise ValueError("it holds text that is none")
        elif isinstance(item, list | dict):
            if depth > MAX_DEPTH:
                raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
            inside = item if isinstance(item, list) else [*item.keys(), *item.values()]
            waiting += [(each, depth + 1) for each in inside]


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a value of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is larger than any number")
    return number
