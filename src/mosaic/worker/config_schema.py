"""A worker's config is a dataclass; its JSON Schema, its checks and its forms all come from it."""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import enum
import types
import typing
from typing import Any, Literal

OBJECT_TYPES = (dict, collections.abc.Mapping)
ARRAY_TYPES = (list, tuple, collections.abc.Sequence)
_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def option(
    default: Any = dataclasses.MISSING,
    *,
    help: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[Any, ...] | None = None,
    editor: str = "",
) -> Any:
    """A field of a config dataclass; without a default it is required, with `list` or `dict` empty.

    `editor` names a special editor for forms: env_id, checkpoint, dataset, secret, curriculum.
    """
    rules = {
        "description": help,
        "minimum": minimum,
        "maximum": maximum,
        "enum": None if choices is None else list(choices),
        "x-editor": editor,
    }
    schema = {name: value for name, value in rules.items() if value not in (None, "")}
    if default in (list, dict):
        return dataclasses.field(default_factory=default, metadata={"schema": schema})
    if type(default).__hash__ is None:  # mutable: each config gets a copy of its own
        return dataclasses.field(
            default_factory=lambda: copy.deepcopy(default), metadata={"schema": schema}
        )
    return dataclasses.field(default=default, metadata={"schema": schema})


def config_schema(cls: type) -> dict[str, Any]:
    """The JSON Schema of a config dataclass."""
    hints = typing.get_type_hints(cls)
    properties: dict[str, Any] = {}
    required = []
    for item in config_fields(cls):
        schema = {**type_schema(hints[item.name], item.name), **item.metadata.get("schema", {})}
        if is_required(item):
            required.append(item.name)
        else:
            schema["default"] = _plain(_default(item))
            if "enum" in schema and schema["default"] is None and None not in schema["enum"]:
                schema["enum"] = [*schema["enum"], None]
        properties[item.name] = schema
    result: dict[str, Any] = {
        "title": cls.__name__,
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
    }
    if required:
        result["required"] = required
    return result


def config_fields(cls: type) -> list[dataclasses.Field[Any]]:
    return [item for item in dataclasses.fields(cls) if item.init]


def config_to_dict(config: Any) -> dict[str, Any]:
    """The config as plain JSON values."""
    plain: dict[str, Any] = _plain(config)
    return plain


def type_schema(hint: Any, where: str) -> dict[str, Any]:
    if hint is Any:
        return {}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return config_schema(hint)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return {"enum": list(arguments)}
    if hint is dict or origin in OBJECT_TYPES:
        return _dict_schema(arguments, where)
    if hint in (list, tuple) or origin in ARRAY_TYPES:
        return _array_schema(origin, arguments, where)
    if origin in (typing.Union, types.UnionType):
        return _union_schema(arguments, where)
    raise TypeError(f"{where}: the type {hint!r} has no place in a config")


def _dict_schema(arguments: tuple[Any, ...], where: str) -> dict[str, Any]:
    if not arguments:
        return {"type": "object"}
    if arguments[0] is not str:
        raise TypeError(f"{where}: JSON has only strings as keys")
    values = type_schema(arguments[1], where)
    return {"type": "object", "additionalProperties": values} if values else {"type": "object"}


def _array_schema(origin: Any, arguments: tuple[Any, ...], where: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "array"}
    if not arguments:
        return schema
    if len(set(arguments) - {Ellipsis}) > 1:
        raise TypeError(f"{where}: the items of a tuple must all have the same type")
    if items := type_schema(arguments[0], where):
        schema["items"] = items
    if origin is tuple and Ellipsis not in arguments:
        schema["minItems"] = schema["maxItems"] = len(arguments)
    return schema


def _union_schema(arguments: tuple[Any, ...], where: str) -> dict[str, Any]:
    options = [
        {"type": "null"} if part is type(None) else type_schema(part, where) for part in arguments
    ]
    if all(set(option) == {"type"} for option in options):
        return {"type": [option["type"] for option in options]}
    if len(options) == 2 and {"type": "null"} in options:
        (other,) = [option for option in options if option != {"type": "null"}]
        if set(other) == {"enum"}:
            return {"enum": [*other["enum"], None]}
    return {"anyOf": options}


def is_required(item: dataclasses.Field[Any]) -> bool:
    return item.default is dataclasses.MISSING and item.default_factory is dataclasses.MISSING


def _default(item: dataclasses.Field[Any]) -> Any:
    if item.default_factory is not dataclasses.MISSING:
        return item.default_factory()
    return item.default


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: _plain(getattr(value, item.name)) for item in config_fields(type(value))}
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
