"""`--set key=value`: text becomes what the worker's config schema says it is."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable
from typing import Any

from mosaic.contracts.schema_check import shortened, violations
from mosaic.errors import ConfigError
from mosaic.front.typed_numbers import whole_number

_TRUE = {"true", "yes", "on", "1"}
_FALSE = {"false", "no", "off", "0"}
_NULL = {"null", "none"}


def parse_settings(pairs: Iterable[str], schema: dict[str, Any]) -> dict[str, Any]:
    """The worker's config from `key=value` texts; `a.b=1` reaches into an object."""
    config: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise ConfigError(
                f"{shortened(pair)} is not of the form key=value", hint="for example --set seed=1"
            )
        _store(config, key, text, schema)
    return config


def _store(config: dict[str, Any], key: str, text: str, schema: dict[str, Any]) -> None:
    *parents, last = key.split(".")
    target, level = config, schema
    for name in parents:
        level = _field_schema(level, name, key)
        target = target.setdefault(name, {})
        if not isinstance(target, dict):
            raise ConfigError(f"{name!r} is set to a value, so {key!r} cannot be", field=key)
    wanted = _field_schema(level, last, key)
    value = typed_value(text, wanted, key)
    for violation in violations(value, wanted, key):
        raise ConfigError(
            f"{violation.path}: {violation.message}", hint=violation.hint, field=violation.path
        )
    target[last] = value


def _field_schema(schema: dict[str, Any], name: str, key: str) -> dict[str, Any]:
    known: dict[str, Any] = schema.get("properties", {})
    if name in known:
        return dict(known[name])
    extra = schema.get("additionalProperties", not known)
    if extra is False or extra is None:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise ConfigError(
            f"The worker has no setting {name!r}",
            hint=f"{hint}known: {', '.join(sorted(known))}",
            field=key,
        )
    return dict(extra) if isinstance(extra, dict) else {}


def typed_value(text: str, schema: dict[str, Any], key: str) -> Any:
    """The text as the first of the schema's types that it can be read as."""
    if "enum" in schema:
        for choice in schema["enum"]:
            if text == choice or text == json.dumps(choice):
                return choice
    types = _types(schema)
    for name in ("null", "integer", "number", "boolean", "array", "object", "string"):
        if name in types:
            found, value = _READERS[name](text)
            if found:
                return value
    if not types:
        found, value = _read_json(text, object)
        return value if found else text
    raise ConfigError(
        f"{key} is {shortened(text)}, which is not of type {' or '.join(sorted(types))}",
        hint=schema.get("description", ""),
        field=key,
    )


def _types(schema: dict[str, Any]) -> set[str]:
    declared = schema.get("type")
    if isinstance(declared, str):
        return {declared}
    if isinstance(declared, list):
        return set(declared)
    return {name for option in schema.get("anyOf", ()) for name in _types(option)}


def _read_null(text: str) -> tuple[bool, Any]:
    return text.lower() in _NULL, None


def _read_boolean(text: str) -> tuple[bool, Any]:
    word = text.lower()
    return word in _TRUE or word in _FALSE, word in _TRUE


def _read_integer(text: str) -> tuple[bool, Any]:
    try:
        return True, int(text)
    except ValueError:
        pass
    try:
        return True, whole_number(text)  # 1e6 and 1M are how people write a million
    except ValueError:
        return False, None


def _read_number(text: str) -> tuple[bool, Any]:
    try:
        return True, float(text)
    except ValueError:
        return False, None


def _read_json(text: str, kind: type) -> tuple[bool, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False, None
    return isinstance(value, kind), value


_READERS: dict[str, Callable[[str], tuple[bool, Any]]] = {
    "null": _read_null,
    "boolean": _read_boolean,
    "integer": _read_integer,
    "number": _read_number,
    "array": lambda text: _read_json(text, list),
    "object": lambda text: _read_json(text, dict),
    "string": lambda text: (True, text),
}
