"""JSON values to an instance of a worker's config dataclass, refusing what it cannot mean."""

from __future__ import annotations

import dataclasses
import difflib
import enum
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from mosaic.contracts.schema_check import violations
from mosaic.errors import ConfigError
from mosaic.worker.config_schema import (
    ARRAY_TYPES,
    OBJECT_TYPES,
    config_fields,
    config_schema,
    is_required,
    type_schema,
)

ConfigType = TypeVar("ConfigType")


def build_config(cls: type[ConfigType], data: Mapping[str, Any]) -> ConfigType:
    """An instance of the dataclass, or a ConfigError that names the field."""
    if not isinstance(data, dict):
        raise _invalid(cls, "", f"a JSON object was expected, not {type(data).__name__}")
    _check_names(cls, data, cls, "")
    for violation in violations(data, config_schema(cls)):
        raise _invalid(cls, violation.path, violation.message, violation.hint)
    try:
        instance: ConfigType = _convert(data, cls)
    except ConfigError:
        raise
    except (TypeError, ValueError) as error:  # from the dataclass's own __post_init__
        raise _invalid(cls, "", str(error)) from error
    return instance


def _check_names(root: type, data: Mapping[str, Any], cls: type, path: str) -> None:
    """Unknown and missing names first: they explain most of what else would be wrong."""
    hints = typing.get_type_hints(cls)
    fields = {item.name: item for item in config_fields(cls)}
    for name in data:
        if name not in fields:
            close = difflib.get_close_matches(str(name), fields, n=1)
            known = f"known here: {', '.join(sorted(fields))}"
            hint = f"did you mean '{close[0]}'?" if close else known
            raise _invalid(root, f"{path}{name}", "is not a known field", hint)
    for name, item in fields.items():
        if name not in data and is_required(item):
            description = item.metadata.get("schema", {}).get("description", "")
            hint = f"{name}: {description}" if description else f"add '{name}'"
            raise _invalid(root, f"{path}{name}", "is required", hint)
        for part in (hints[name], *typing.get_args(hints[name])):
            value = data.get(name)
            if dataclasses.is_dataclass(part) and isinstance(part, type) and type(value) is dict:
                _check_names(root, value, part, f"{path}{name}.")


def _convert(value: Any, hint: Any) -> Any:
    """Checked JSON values to what the annotation says: tuples, nested configs, enum members."""
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        hints = typing.get_type_hints(hint)
        return hint(**{name: _convert(item, hints[name]) for name, item in value.items()})
    if hint is int and isinstance(value, float):
        return int(value)  # 1e6 is a whole number
    if hint is float and type(value) is int:
        return float(value)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return hint(value)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(value, list | tuple) and (hint in (list, tuple) or origin in ARRAY_TYPES):
        item_hint = arguments[0] if arguments else Any
        make = list if list in (hint, origin) else tuple
        return make(_convert(item, item_hint) for item in value)
    if isinstance(value, dict) and origin in OBJECT_TYPES:
        return {name: _convert(item, arguments[1]) for name, item in value.items()}
    if value is not None and origin in (typing.Union, types.UnionType):
        return _convert_union(value, arguments)
    return value


def _convert_union(value: Any, arguments: tuple[Any, ...]) -> Any:
    if type(value) in arguments:
        return value
    for part in arguments:
        if part is not type(None) and not any(violations(value, type_schema(part, ""))):
            return _convert(value, part)
    return value


def _invalid(cls: type, path: str, message: str, hint: str = "") -> ConfigError:
    where = f"'{path}' " if path else ""
    if path and not message.startswith("is "):
        where = f"'{path}': "
    return ConfigError(f"Invalid {cls.__name__}: {where}{message}", hint=hint, field=path)
