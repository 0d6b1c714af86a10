"""A worker's config is a dataclass; its JSON Schema, its checks and its forms all come from it.

It is read from a JSON file and from `--set key=value`, and whatever is not valid is refused.
"""

from __future__ import annotations

import collections.abc
import copy
import dataclasses
import difflib
import enum
import json
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from mosaic.contracts.options import OptionText
from mosaic.contracts.schema_check import violations
from mosaic.errors import ConfigError

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
    title: str = "",
    section: str | None = None,
    order: float | None = None,
    unit: str = "",
    placeholder: str | None = None,
    flag: str = "",
    modes: tuple[str, ...] = (),
    shown_when: Mapping[str, Any] | None = None,
    choice_help: Mapping[str, str] | None = None,
    role: str = "",
    template: str = "",
) -> Any:
    """A field of a config dataclass; without a default it is required, with `list` or `dict` empty.

    `editor` names a special editor for forms: env_id, checkpoint, dataset, path, folder, plan,
    secret, long_text, curriculum. What follows after it is told in `mosaic.contracts.options`.
    """
    text = OptionText(
        title,
        section,
        order,
        unit,
        placeholder,
        flag,
        modes,
        shown_when=dict(shown_when or {}),
        choice_help=dict(choice_help or {}),
        role=role,
        template=template,
    )
    rules = {
        "description": help,
        "minimum": minimum,
        "maximum": maximum,
        "enum": None if choices is None else list(choices),
        "x-editor": editor,
    }
    schema = {name: value for name, value in rules.items() if value not in (None, "")}
    schema |= text.schema_entries()
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


# -- From JSON values to an instance

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


# -- Files and assignments


def load_config_file(path: Path) -> dict[str, Any]:
    """The worker's config: the whole document, or `metadata.worker.config` of a TrainRunConfig."""
    data = _read_strict_json(path)
    if not isinstance(data, dict):
        raise ConfigError(
            f"{path}: a JSON object was expected, not {type(data).__name__}",
            hint='for example {"env_id": "CartPole-v1"}',
            path=str(path),
        )
    metadata = data.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("worker"), dict):
        return data
    config = metadata["worker"].get("config", {})
    if not isinstance(config, dict):
        raise ConfigError(
            f"{path}: metadata.worker.config must be a JSON object",
            field="metadata.worker.config",
            path=str(path),
        )
    return config


def apply_assignments(
    data: dict[str, Any], assignments: Iterable[str], schema: dict[str, Any]
) -> dict[str, Any]:
    """A copy of the config with every `key=value` applied; dots lead into nested objects."""
    result: dict[str, Any] = json.loads(json.dumps(data))
    for text in assignments:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise ConfigError(
                f"--set {text!r} is not of the form key=value", hint="write --set seed=1", field=key
            )
        *parents, name = key.split(".")
        target, known = result, schema
        for parent in parents:
            known = known.get("properties", {}).get(parent, {})
            target = target.setdefault(parent, {})
            if not isinstance(target, dict):
                raise ConfigError(f"--set {key}: '{parent}' is not an object", field=key)
        target[name] = _parse(value, known.get("properties", {}).get(name, {}))
    return result


def _parse(text: str, schema: dict[str, Any]) -> Any:
    """JSON where it is JSON, text otherwise; a field that only takes text gets the text."""
    expected = schema.get("type")
    if expected == "string" or text in schema.get("enum", ()):
        return text
    if text in ("True", "False") and expected == "boolean":
        return text == "True"
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except ValueError:
        return text


def _read_strict_json(path: Path) -> Any:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"The config file {path} cannot be read: {error.strerror}",
            hint="check the path after --config",
            path=str(path),
        ) from error
    try:
        return json.loads(content, parse_constant=_refuse_constant)
    except RecursionError:
        raise ConfigError(f"{path} is nested too deeply", path=str(path)) from None
    except ValueError as error:
        raise ConfigError(
            f"{path} is not valid JSON: {error}", hint="check quotes and commas", path=str(path)
        ) from error


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a JSON number")
