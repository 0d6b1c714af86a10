"""Entries: what somebody typed into a field, read as a value, and values written as entries."""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from typing import Any

from mosaic.contracts.schema_check import violations
from mosaic.errors import ConfigError
from mosaic.front.training_config import parse_seeds
from mosaic.gui.state.form_fields import Field, Kind, sentence

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
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
    if field.kind in (Kind.BOOLEAN, Kind.CHOICE):
        return value
    if value is None:
        return ""
    if field.kind is Kind.INTEGER and isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if field.kind is Kind.TEXT_LIST and isinstance(value, list):
        return "\n".join(map(str, value))
    if field.kind is Kind.JSON and not isinstance(value, str):
        return json.dumps(value)
    return str(value)


def _read(field: Field, entry: Any) -> Any:
    match field.kind:
        case Kind.BOOLEAN:
            if not isinstance(entry, bool):
                raise EntryError(f"{_quoted(entry)} is neither yes nor no")
            return entry
        case Kind.CHOICE:
            return _read_choice(field, entry)
    if not isinstance(entry, str):
        raise EntryError(f"{_quoted(entry)} is not a text")
    text = entry.strip()
    if not text and field.kind is not Kind.TEXT_LIST:
        return _read_nothing(field)
    match field.kind:
        case Kind.INTEGER:
            return _read_integer(text)
        case Kind.NUMBER:
            return float(_read_decimal(text))
        case Kind.SEEDS:
            return _read_seeds(text)
        case Kind.ENVIRONMENT:
            return _read_environment(text)
        case Kind.TEXT_LIST:
            return [line.strip() for line in text.splitlines() if line.strip()] or None
        case Kind.JSON:
            return _read_json(text)
        case Kind.LONG_TEXT:
            return text
        case _:
            if not text.isprintable():
                raise EntryError("Control characters cannot be used here")
            return text


def _read_nothing(field: Field) -> None:
    if field.is_required:
        raise EntryError(f"{field.title} is missing")
    if field.kind in (Kind.INTEGER, Kind.NUMBER, Kind.JSON) and not field.is_nullable:
        raise EntryError(f"Give a value, for example {entry_of(field, field.default) or 1}")


def _read_choice(field: Field, entry: Any) -> Any:
    for choice in field.choices:
        if choice.value == entry and isinstance(choice.value, bool) == isinstance(entry, bool):
            return choice.value
    raise EntryError(f"{_quoted(entry)} is not among the choices")


def _read_decimal(text: str) -> Decimal:
    plain = text.replace(",", "") if _THOUSANDS.fullmatch(text) else text
    try:
        number = Decimal(plain)
    except InvalidOperation:
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
