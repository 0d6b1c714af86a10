"""Checks a value against the part of JSON Schema that our contracts use, in plain sentences.

Standard library only, because workers validate their config with it inside foreign environments.
A test holds it to the same verdicts as the `jsonschema` package.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

MOST_SHOWN = 80
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list, tuple),
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "null": (type(None),),
}


@dataclass(frozen=True)
class Violation:
    """One broken rule: the dotted path of the field (empty for the whole), and what is wrong."""

    path: str
    message: str
    hint: str = ""


def violations(value: Any, schema: dict[str, Any], path: str = "") -> Iterator[Violation]:
    expected = schema.get("type")
    if expected is not None and not _has_type(value, expected):
        wanted = expected if isinstance(expected, str) else " or ".join(expected)
        yield Violation(path, f"{shortened(value)} is not of type '{wanted}'", _hint(schema))
        return
    if "const" in schema and not _equal(value, schema["const"]):
        yield Violation(path, f"{schema['const']!r} was expected", _hint(schema))
    if "enum" in schema and not any(_equal(value, option) for option in schema["enum"]):
        yield Violation(path, f"{shortened(value)} is not one of {schema['enum']!r}", _hint(schema))
    if "anyOf" in schema:
        yield from _check_any_of(value, schema, path)
    if isinstance(value, bool):
        return
    if isinstance(value, int | float):
        yield from _check_number(value, schema, path)
    elif isinstance(value, str):
        yield from _check_string(value, schema, path)
    elif isinstance(value, dict):
        yield from _check_object(value, schema, path)
    elif isinstance(value, list | tuple):
        yield from _check_array(value, schema, path)


def _equal(left: Any, right: Any) -> bool:
    """In JSON true is not 1, though Python says they are equal."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _has_type(value: Any, expected: str | list[str]) -> bool:
    for name in [expected] if isinstance(expected, str) else expected:
        if isinstance(value, bool) and name != "boolean":
            continue
        if name == "integer" and isinstance(value, float) and value.is_integer():
            return True
        if isinstance(value, _TYPES[name]):
            return True
    return False


def _check_any_of(value: Any, schema: dict[str, Any], path: str) -> Iterator[Violation]:
    branches = [list(violations(value, option, path)) for option in schema["anyOf"]]
    if all(branches):
        # The branch that came furthest explains best.
        yield min(branches, key=len)[0]


def _check_number(value: float, schema: dict[str, Any], path: str) -> Iterator[Violation]:
    # Not asked of integers, which would have to fit into a float.
    if isinstance(value, float) and not math.isfinite(value):
        yield Violation(path, f"{value} is not a finite number", "write an ordinary number")
        return
    number, hint = shortened(value), _hint(schema)
    if "minimum" in schema and value < schema["minimum"]:
        yield Violation(path, f"{number} is less than the minimum of {schema['minimum']}", hint)
    if "maximum" in schema and value > schema["maximum"]:
        yield Violation(path, f"{number} is greater than the maximum of {schema['maximum']}", hint)
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        yield Violation(path, f"{number} must be greater than {schema['exclusiveMinimum']}", hint)
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        yield Violation(path, f"{number} must be less than {schema['exclusiveMaximum']}", hint)


def _check_string(value: str, schema: dict[str, Any], path: str) -> Iterator[Violation]:
    if len(value) < schema.get("minLength", 0):
        yield Violation(path, f"{shortened(value)} is too short", _hint(schema))
    if len(value) > schema.get("maxLength", len(value)):
        yield Violation(
            path, f"{len(value)} characters is longer than the limit of {schema['maxLength']}"
        )
    pattern = schema.get("pattern")
    # JSON Schema's `$` means the very end; Python's also admits a trailing newline.
    if pattern is not None and not re.search(pattern.replace("$", r"\Z"), value):
        yield Violation(path, f"{shortened(value)} does not match '{pattern}'", _hint(schema))


def _check_object(value: dict[Any, Any], schema: dict[str, Any], path: str) -> Iterator[Violation]:
    known = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            yield Violation(
                path, f"'{name}' is a required property", _hint(known.get(name, {}), name)
            )
    names = schema.get("propertyNames")
    extra = schema.get("additionalProperties", True)
    for key, item in value.items():
        where = f"{path}.{key}" if path else str(key)
        if not isinstance(key, str):
            yield Violation(path, f"the key {key!r} is not a string")
            continue
        if names is not None:
            yield from violations(key, names, where)
        if key in known:
            yield from violations(item, known[key], where)
        elif extra is False:
            listed = ", ".join(sorted(known))
            yield Violation(where, f"'{key}' is not a known property", f"known here: {listed}")
        elif isinstance(extra, dict):
            yield from violations(item, extra, where)


def _check_array(value: Any, schema: dict[str, Any], path: str) -> Iterator[Violation]:
    if len(value) > schema.get("maxItems", len(value)):
        yield Violation(path, f"{len(value)} items is more than the limit of {schema['maxItems']}")
    if len(value) < schema.get("minItems", 0):
        yield Violation(path, f"{len(value)} items is fewer than {schema['minItems']}")
    items = schema.get("items")
    if isinstance(items, dict):
        for index, item in enumerate(value):
            yield from violations(item, items, f"{path}[{index}]")


def shortened(value: Any) -> str:
    """A value as it stands in a sentence: never long, and never the cause of another error."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python refuses to write out thousands of digits
        return "a value too long to be written out"
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


def _hint(schema: dict[str, Any], name: str = "") -> str:
    description = schema.get("description", "")
    return f"{name}: {description}" if name and description else str(description)
