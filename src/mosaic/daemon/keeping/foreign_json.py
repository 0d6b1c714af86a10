"""JSON documents of a run that came from elsewhere: bounded, and of values every reader knows."""

from __future__ import annotations

import itertools
import json
import math
import re
from pathlib import Path
from typing import Any, NoReturn

# As much as a config that is submitted here may have.
MAX_DOCUMENT_BYTES = 4_000_000
MAX_DEPTH = 64
# Empty lists have two bytes each in a file and sixty in memory.
MAX_VALUES = 500_000
_SURROGATE = re.compile("[\ud800-\udfff]")


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
    open_containers = [iter([value])]
    values = 0
    while open_containers:
        for item in open_containers[-1]:
            values += 1
            if isinstance(item, list | dict):
                parts = itertools.chain(item, item.values()) if isinstance(item, dict) else item
                open_containers.append(iter(parts))
                break
            if isinstance(item, str) and ("\0" in item or _SURROGATE.search(item)):
                raise ValueError("it holds text that is none")
        else:
            open_containers.pop()
        if len(open_containers) > MAX_DEPTH + 1:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH} levels")
        if values > MAX_VALUES:
            raise ValueError(f"it holds more than {MAX_VALUES:,} values")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a value of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is larger than any number")
    return number
