"""Field: one thing a form asks for. Entries: what is typed into it, read as a value."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Any, NamedTuple

from mosaic.contracts.options import (
    OptionSchemas,
    OptionText,
    by_section,
    is_switch,
    option_text,
    value_types,
)
from mosaic.contracts.schema_check import violations
from mosaic.errors import ConfigError
from mosaic.front.training_config import parse_seeds
from mosaic.front.typed_numbers import decimal_number

# Entries of a schema's "x-editor" that this workbench has an editor for.
_EDITORS = {
    **{"env_id": "environment", "checkpoint": "path", "path": "path", "secret": "secret"},
    **{"plan": "plan", "long_text": "long text", "command": "long text", "folder": "path"},
}


class FieldKind(StrEnum):
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
    TEXT = "text"
    LONG_TEXT = "long text"
    PATH = "path"
    PLAN = "plan"  # a file that can be edited in a window of its own
    ENVIRONMENT = "environment"
    SEEDS = "seeds"
    SECRET = "secret"
    TEXT_LIST = "text list"  # one in each line
    JSON = "json"  # objects, and lists of anything
    CHIP = "chip"  # says what another field holds, and takes it away


class Choice(NamedTuple):
    value: Any
    text: str
    help: str = ""


class ShownWhen(NamedTuple):
    """A field that makes sense only while another one has a certain value."""

    when: str
    is_: Any


@dataclass(frozen=True)
class Field:
    """One thing a form asks for, made by hand or from the JSON Schema of a setting."""

    name: str
    title: str
    kind: FieldKind
    default: Any = None
    help: str = ""
    # What the value must be, checked with mosaic.contracts.schema_check.
    schema: Mapping[str, Any] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    is_required: bool = False
    section: str = ""  # empty: always in sight
    unit: str = ""
    placeholder: str = ""
    shown: ShownWhen | None = None
    # Where its default comes from, unless it is the setting's own.
    origin: str = ""
    # Why it cannot be changed here; empty when it can.
    disabled_reason: str = ""
    # Of a chip: the field that holds what it says.
    stands_for: str = ""

    @property
    def minimum(self) -> float | None:
        return self.schema.get("minimum")

    @property
    def maximum(self) -> float | None:
        return self.schema.get("maximum")

    @property
    def is_nullable(self) -> bool:
        return "null" in value_types(self.schema) or not self.schema

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
    """The field that lets people edit a setting of this schema.

    `section` is where it stands unless the schema says it.
    """
    text = option_text(schema)
    default = schema.get("default")
    choices = _choices(schema, text)
    if default is None and (meant := _meant_by_nothing(choices, text)) is not None:
        default, choices = meant.value, tuple(item for item in choices if item.value is not None)
        if is_switch(schema):
            choices = ()  # a box to tick has both states
        text = replace(text, placeholder="")
    empty = "default" if default is None and not is_required else ""
    return Field(
        name,
        text.title or title_of(name),
        _kind(schema, bool(choices)),
        default=default,
        help=sentence(str(schema.get("description", ""))),
        schema=schema,
        choices=choices,
        is_required=is_required,
        section=section if text.section is None else text.section,
        unit=text.unit,
        placeholder=empty if text.placeholder is None else text.placeholder,
    )


def fields_of(
    schemas: OptionSchemas, unsaid: str = "", required: Collection[str] = ()
) -> list[Field]:
    """The fields of all these settings, section by section; `unsaid`: where the others stand."""
    return [
        replace(
            field_of(name, schema, section=section, is_required=name in required),
            shown=_shown_when(schema, schemas),
        )
        for section, options in by_section(schemas, unsaid).items()
        for name, schema in options.items()
    ]


def _shown_when(schema: Mapping[str, Any], others: OptionSchemas) -> ShownWhen | None:
    conditions = option_text(schema).shown_when.items()
    return next((ShownWhen(name, value) for name, value in conditions if name in others), None)


def title_of(name: str) -> str:
    """`gae_lambda` → `GAE lambda`: words, with the abbreviations people know in capitals."""
    words = name.replace("-", "_").split("_")
    shown = [_CAPITALS.get(word, word) for word in words if word]
    if not shown:
        return name
    return " ".join([shown[0][:1].upper() + shown[0][1:], *shown[1:]])


def sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def by_name(fields: Iterable[Field]) -> dict[str, Field]:
    return {item.name: item for item in fields}


def _kind(schema: Mapping[str, Any], has_choices: bool) -> FieldKind:
    editor = _EDITORS.get(str(schema.get("x-editor", "")))
    if editor is not None:
        return FieldKind(editor)
    if has_choices:
        return FieldKind.CHOICE
    types = value_types(schema) - {"null"}
    match sorted(types):
        case ["boolean"]:
            return FieldKind.BOOLEAN
        case ["integer"]:
            return FieldKind.INTEGER
        case ["number"] | ["integer", "number"]:
            return FieldKind.NUMBER
        case ["string"]:
            return FieldKind.TEXT
        case ["array"] if schema.get("items", {}).get("type") == "string":
            return FieldKind.TEXT_LIST
        case _:
            return FieldKind.JSON


def _choices(schema: Mapping[str, Any], text: OptionText) -> tuple[Choice, ...]:
    if "enum" in schema:
        return tuple(
            Choice(value, _choice_text(value), text.choice_help.get(str(value), ""))
            for value in schema["enum"]
        )
    # Yes, no, or nothing said: a box to tick has only two states.
    if value_types(schema) == {"boolean", "null"}:
        return tuple(Choice(value, _choice_text(value)) for value in (None, True, False))
    return ()


def _meant_by_nothing(choices: Iterable[Choice], text: OptionText) -> Choice | None:
    """The choice that holds when nothing is said, where the schema tells."""
    known = (item for item in choices if item.value is not None)
    return next((item for item in known if item.text == text.placeholder), None)


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


_SPAN = re.compile(r"(\d+)\s*[-–—]\s*(\d+)")
_MOST_DIGITS = 18  # what is longer does not fit the 64 bits that all programs agree on
_LONGEST_ID = 200
_SHOWN = 32


class EntryError(ValueError):
    """A sentence for under the field."""


def read_entry(field: Field, entry: Any) -> Any:
    """The value; raises EntryError when it cannot be one."""
    value = _read(field, entry)
    if value is None:
        if field.is_required:
            raise EntryError(f"{field.title} is missing")
        return None
    for violation in violations(value, dict(field.schema)):
        # A pattern is for machines; what it means stands in the description.
        is_pattern = "does not match" in violation.message and violation.hint
        raise EntryError(sentence(violation.hint if is_pattern else violation.message))
    return value


def entry_of(field: Field, value: Any) -> Any:
    """How a value stands in its field: text, except for what is ticked or chosen."""
    if field.kind in (FieldKind.BOOLEAN, FieldKind.CHOICE):
        return value
    if value is None:
        return ""
    if field.kind is FieldKind.INTEGER and isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if field.kind is FieldKind.TEXT_LIST and isinstance(value, list):
        return "\n".join(map(str, value))
    if field.kind is FieldKind.JSON and not isinstance(value, str):
        return json.dumps(value)
    return str(value)


def _read(field: Field, entry: Any) -> Any:
    match field.kind:
        case FieldKind.BOOLEAN:
            if not isinstance(entry, bool):
                raise EntryError(f"{_quoted(entry)} is neither yes nor no")
            return entry
        case FieldKind.CHOICE:
            return _read_choice(field, entry)
    if not isinstance(entry, str):
        raise EntryError(f"{_quoted(entry)} is not a text")
    text = entry.strip()
    if not text and field.kind is not FieldKind.TEXT_LIST:
        return _read_nothing(field)
    match field.kind:
        case FieldKind.INTEGER:
            return _read_integer(text)
        case FieldKind.NUMBER:
            return float(_read_decimal(text))
        case FieldKind.SEEDS:
            return _read_seeds(text)
        case FieldKind.ENVIRONMENT:
            return _read_environment(text)
        case FieldKind.TEXT_LIST:
            return [line.strip() for line in text.splitlines() if line.strip()] or None
        case FieldKind.JSON:
            return _read_json(text)
        case FieldKind.LONG_TEXT:
            return text
        case _:
            if not text.isprintable():
                raise EntryError("Control characters cannot be used here")
            return text


def _read_nothing(field: Field) -> None:
    if field.is_required:
        raise EntryError(f"{field.title} is missing")
    if (
        field.kind in (FieldKind.INTEGER, FieldKind.NUMBER, FieldKind.JSON)
        and not field.is_nullable
    ):
        raise EntryError(f"Give a value, for example {entry_of(field, field.default) or 1}")


def _read_choice(field: Field, entry: Any) -> Any:
    for choice in field.choices:
        if choice.value == entry and isinstance(choice.value, bool) == isinstance(entry, bool):
            return choice.value
    raise EntryError(f"{_quoted(entry)} is not among the choices")


def _read_decimal(text: str) -> Decimal:
    try:
        number = decimal_number(text)
    except ValueError:
        raise EntryError(f"{_quoted(text)} is not a number") from None
    if not number.is_finite():
        raise EntryError(f"{_quoted(text)} is not a finite number")
    if number and abs(number.adjusted()) > 300:
        raise EntryError(f"{_quoted(text)} is too {'large' if number.adjusted() > 0 else 'small'}")
    return number


def _read_integer(text: str) -> int:
    number = _read_decimal(text)
    if number.adjusted() >= _MOST_DIGITS:
        raise EntryError(f"{_quoted(text)} is too large")
    if number != number.to_integral_value():
        raise EntryError(f"{_quoted(text)} is not a whole number")
    return int(number)


def _read_seeds(text: str) -> str:
    """Stays a text, with the dots that the command line knows."""
    dotted = _SPAN.sub(r"\1..\2", text)
    try:
        parse_seeds(dotted)
    except ConfigError as error:
        many = "more than" in error.message
        raise EntryError(
            "At most 1,000 seeds at once" if many else "Write different numbers: 1..5 or 1,4,9"
        ) from None
    return dotted


def _read_environment(text: str) -> str:
    if len(text) > _LONGEST_ID:
        raise EntryError(f"An environment id has at most {_LONGEST_ID} characters")
    if not text.isprintable() or any(letter.isspace() for letter in text):
        raise EntryError("An environment id has no spaces or control characters")
    return text


def _read_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise EntryError('This is not JSON: write for example {"size": 3}') from None


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _quoted(entry: Any) -> str:
    text = entry if isinstance(entry, str) else repr(entry)
    return f"“{text[:_SHOWN]}…”" if len(text) > _SHOWN else f"“{text}”"
