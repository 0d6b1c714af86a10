"""Flags that workers publish: which there are, how they read, and what they set. Pure.

A worker's schema says which option has a flag of its own (`mosaic.contracts.options`), so a command
needs to know none of them. Several workers may have a flag in common: then the value is read as the
first of them reads it that can, and what it sets is up to the worker of the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.contracts.options import (
    OptionSchema,
    OptionSchemas,
    flagged,
    is_switch,
    of_mode,
    option_text,
    switched,
    value_types,
)
from mosaic.contracts.schema_check import violations
from mosaic.errors import ConfigError, RequestError
from mosaic.front.set_values import typed_value

PublishedFlags = Mapping[str, Sequence[OptionSchema]]

_EDITOR_VALUES = {
    **{"checkpoint": "RUN|PATH", "path": "PATH", "folder": "PATH", "plan": "PATH"},
    **{"env_id": "ENV"},
}
_TYPE_VALUES = {"integer": "N", "number": "X", "string": "TEXT"}
_LARGEST = 2**63  # what is larger does not fit the 64 bits that all programs agree on


def published_flags(learners: Mapping[str, OptionSchemas], mode: str) -> PublishedFlags:
    """What each of these learners says about the flags of this mode, by flag."""
    found: dict[str, list[OptionSchema]] = {}
    for schemas in learners.values():
        for flag, schema in own_flags(of_mode(schemas, mode)).items():
            found.setdefault(flag, []).append(schema)
    return found


def own_flags(schemas: OptionSchemas) -> dict[str, OptionSchema]:
    return {flag: schemas[name] for name, flag in flagged(schemas).items()}


# What they mean


def flag_settings(given: Mapping[str, Any], schemas: OptionSchemas, worker: str) -> dict[str, Any]:
    """The settings that flags stand for; of a switch True is the flag, False its contrary."""
    names = {flag: name for name, flag in flagged(schemas).items()}
    found: dict[str, Any] = {}
    for flag, value in given.items():
        name = names.get(flag)
        if name is None:
            raise RequestError(
                f"The worker {worker} has no option for {flag}",
                hint="leave it out, or set what it has with --extra KEY=VALUE",
            )
        schema = schemas[name]
        found[name] = switched(schema) == value if isinstance(value, bool) else value
        for violation in violations(found[name], dict(schema)):
            raise ConfigError(f"{flag}: {violation.message}", hint=violation.hint, field=name)
    return found


def split_flags(
    settings: Mapping[str, Any], schemas: OptionSchemas
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings that have a flag of their own, by that flag; and the rest."""
    rest = dict(settings)
    flags: dict[str, Any] = {}
    for name, flag in flagged(schemas).items():
        if name not in rest:
            continue
        value = rest[name]
        if not isinstance(value, bool):
            flags[flag] = rest.pop(name)
        elif value is switched(schemas[name]):
            del rest[name]
            flags[flag] = True
        elif schemas[name].get("default") == value:
            del rest[name]  # as without the flag
    return flags, rest


# How they read


def switch_names(flag: str) -> tuple[str, str]:
    """The flag of a switch and its contrary, the one without `no` first."""
    name = flag.removeprefix("--no-").removeprefix("--")
    return f"--{name}", f"--no-{name}"


def flag_help(schema: OptionSchema) -> str:
    """Its title and what it means, as in a form, and what holds without it."""
    text, about = option_text(schema), str(schema.get("description", ""))
    title = _as_in_a_sentence(text.title)
    if is_switch(schema) and not switched(schema) and not text.flag.startswith("--no-"):
        return f"switches off {f'{title} ({about})' if title and about else title or about}"
    if title and text.unit:
        title = f"{title} in {text.unit}"
    found = ": ".join(part for part in (title, about) if part)
    usual = _usual_value(schema)
    return f"{found}; default: {usual}" if usual and "default" not in found else found


def value_name(schema: OptionSchema) -> str:
    """What stands for the value of a flag: N, TEXT, RUN|PATH, …"""
    if editor := _EDITOR_VALUES.get(str(schema.get("x-editor", ""))):
        return editor
    if "enum" in schema:
        return "|".join(str(value) for value in schema["enum"] if value is not None)
    types = sorted(value_types(schema) - {"null"})
    return _TYPE_VALUES.get(types[0], "JSON") if len(types) == 1 else "VALUE"


def text_choices(schemas: Sequence[OptionSchema]) -> list[str] | None:
    """The texts that a flag may have where these are all; None where it may have others."""
    values = [value for schema in schemas for value in schema.get("enum", (0,))]
    if not all(value is None or isinstance(value, str) for value in values):
        return None
    return list(dict.fromkeys(value for value in values if value is not None))


def read_flag(text: str, schemas: Sequence[OptionSchema]) -> Any:
    """The value of a flag; raises ConfigError when none of these options can have it."""
    problem: ConfigError | None = None
    for schema in schemas:
        try:
            return _read(text, schema)
        except ConfigError as error:
            problem = problem or error
    assert problem is not None  # a flag is published by somebody
    raise problem


def _read(text: str, schema: OptionSchema) -> Any:
    wanted = _without_nothing(schema)
    value = typed_value(text, wanted, "the value")
    if isinstance(value, int | float) and abs(value) > _LARGEST:
        raise ConfigError("the value is too large")
    for violation in violations(value, wanted):
        raise ConfigError(violation.message)
    return value


def _without_nothing(schema: OptionSchema) -> dict[str, Any]:
    """Nothing is said by leaving the flag out, so `none` is a text like any other."""
    found = dict(schema)
    if isinstance(declared := found.get("type"), list):
        found["type"] = [name for name in declared if name != "null"]
    if "enum" in found:
        found["enum"] = [value for value in found["enum"] if value is not None]
    if "anyOf" in found:
        found["anyOf"] = [option for option in found["anyOf"] if option != {"type": "null"}]
    return found


def _usual_value(schema: OptionSchema) -> str:
    if is_switch(schema):
        return "" if switched(schema) else "yes"
    placeholder, default = option_text(schema).placeholder, schema.get("default")
    return placeholder or ("" if default in (None, "", [], {}) else str(default))


def _as_in_a_sentence(title: str) -> str:
    """`Begin with` → `begin with`, but `W&B email` stays."""
    return title[:1].lower() + title[1:] if title[1:2].islower() else title
