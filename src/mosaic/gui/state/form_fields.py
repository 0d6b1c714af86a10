"""Field: one thing a form asks for, made by hand or from the JSON Schema of a setting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

# Entries of a schema's "x-editor" that this workbench has an editor for.
_EDITORS = {"env_id": "environment", "checkpoint": "path", "path": "path", "secret": "secret"}


class Kind(StrEnum):
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    TEXT = "text"
    LONG_TEXT = "long text"
    PATH = "path"
    ENVIRONMENT = "environment"
    SEEDS = "seeds"
    SECRET = "secret"
    TEXT_LIST = "text list"  # one in each line
    JSON = "json"  # objects, and lists of anything


class Choice(NamedTuple):
    value: Any
    text: str
    help: str = ""


class Shown(NamedTuple):
    """A field that makes sense only while another one has a certain value."""

    when: str
    is_: Any


@dataclass(frozen=True)
class Field:
    name: str
    title: str
    kind: Kind
    default: Any = None
    help: str = ""
    # What the value must be, checked with mosaic.contracts.schema_check.
    schema: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    is_required: bool = False
    section: str = ""  # empty: always in sight
    unit: str = ""
    placeholder: str = ""
    shown: Shown | None = None
    # Why it cannot be changed here; empty when it can.
    disabled_reason: str = ""

    @property
    def minimum(self) -> float | None:
        return self.schema.get("minimum")

    @property
    def maximum(self) -> float | None:
        return self.schema.get("maximum")

    @property
    def is_nullable(self) -> bool:
        return "null" in schema_types(self.schema) or not self.schema

    @property
    def tooltip(self) -> str:
        """All that is known about it, in lines."""
        lines = [self.help] if self.help else []
        if self.minimum is not None and self.maximum is not None:
            lines.append(f"from {self.minimum:,} to {self.maximum:,}")
        elif self.minimum is not None:
            lines.append(f"{self.minimum:,} or more")
        elif self.maximum is not None:
            lines.append(f"{self.maximum:,} or less")
        if self.disabled_reason:
            lines.append(self.disabled_reason)
        return "\n".join([*lines, self.name])


def field_of(
    name: str, schema: Mapping[str, Any], *, section: str = "", is_required: bool = False
) -> Field:
    """The field that lets people edit a setting of this schema."""
    choices = _choices(schema)
    default = schema.get("default")
    return Field(
        name,
        title_of(name),
        _kind(schema, bool(choices)),
        default=default,
        help=sentence(str(schema.get("description", ""))),
        schema=schema,
        choices=choices,
        is_required=is_required,
        section=section,
        placeholder="default" if default is None and not is_required else "",
    )


def title_of(name: str) -> str:
    """`gae_lambda` → `GAE lambda`: words, with the abbreviations people know in capitals."""
    words = name.replace("-", "_").split("_")
    shown = [_CAPITALS.get(word, word) for word in words if word]
    if not shown:
        return name
    return " ".join([shown[0][:1].upper() + shown[0][1:], *shown[1:]])


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def schema_types(schema: Mapping[str, Any]) -> set[str]:
    declared = schema.get("type")
    if isinstance(declared, str):
        return {declared}
    if isinstance(declared, list):
        return set(declared)
    if "enum" in schema:
        return {"null"} if None in schema["enum"] else set()
    return {name for option in schema.get("anyOf", ()) for name in schema_types(option)}


def by_name(fields: Iterable[Field]) -> dict[str, Field]:
    return {item.name: item for item in fields}


def _kind(schema: Mapping[str, Any], has_choices: bool) -> Kind:
    editor = _EDITORS.get(str(schema.get("x-editor", "")))
    if editor is not None:
        return Kind(editor)
    if has_choices:
        return Kind.CHOICE
    types = schema_types(schema) - {"null"}
    match sorted(types):
        case ["boolean"]:
            return Kind.BOOLEAN
        case ["integer"]:
            return Kind.INTEGER
        case ["number"] | ["integer", "number"]:
            return Kind.NUMBER
        case ["string"]:
            return Kind.TEXT
        case ["array"] if schema.get("items", {}).get("type") == "string":
            return Kind.TEXT_LIST
        case _:
            return Kind.JSON


def _choices(schema: Mapping[str, Any]) -> tuple[Choice, ...]:
    if "enum" in schema:
        return tuple(Choice(value, _choice_text(value)) for value in schema["enum"])
    # Yes, no, or nothing said: a box to tick has only two states.
    if schema_types(schema) == {"boolean", "null"}:
        return tuple(Choice(value, _choice_text(value)) for value in (None, True, False))
    return ()


def _choice_text(value: Any) -> str:
    match value:
        case None:
            return "default"
        case True:
            return "yes"
        case False:
            return "no"
        case _:
            return str(value)


_CAPITALS = {
    **{
        word: word.upper() for word in ("gae", "kl", "id", "lr", "cpu", "gpu", "mb", "cuda", "lstm")
    },
    **{"cpus": "CPUs", "wandb": "W&B"},
}
