"""Fields made from JSON Schema, and what may be typed into them."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.front.catalogue import algorithms
from mosaic.gui.forms.model.fields import (
    EntryError,
    Field,
    FieldKind,
    ShownWhen,
    entry_of,
    field_of,
    fields_of,
    read_entry,
    title_of,
)

INTEGER = field_of("steps", {"type": "integer", "minimum": 1, "maximum": 10**12, "default": 5})
NUMBER = field_of("rate", {"type": "number", "minimum": 0.0, "default": 0.00025})


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "integer"}, FieldKind.INTEGER),
        ({"type": ["integer", "null"]}, FieldKind.INTEGER),
        ({"type": "number"}, FieldKind.NUMBER),
        ({"type": "boolean", "default": True}, FieldKind.BOOLEAN),
        ({"type": ["boolean", "null"]}, FieldKind.CHOICE),
        ({"enum": ["a", "b", None]}, FieldKind.CHOICE),
        ({"type": "string"}, FieldKind.TEXT),
        ({"type": "string", "x-editor": "env_id"}, FieldKind.ENVIRONMENT),
        ({"type": "string", "x-editor": "secret"}, FieldKind.SECRET),
        ({"type": ["string", "null"], "x-editor": "checkpoint"}, FieldKind.PATH),
        ({"type": "array", "items": {"type": "string"}}, FieldKind.TEXT_LIST),
        ({"type": "object"}, FieldKind.JSON),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, FieldKind.JSON),
        ({}, FieldKind.JSON),
    ],
)
def test_the_schema_decides_the_editor(schema: dict[str, Any], kind: FieldKind) -> None:
    assert field_of("x", schema).kind is kind


def test_what_holds_without_a_word_is_chosen_already() -> None:
    help_texts = {"grid": "several", "off": "none"}
    mode = field_of(
        "mode",
        {"enum": ["grid", "off", None], "x-placeholder": "grid", "x-choice-help": help_texts},
    )
    assert (mode.kind, mode.default) == (FieldKind.CHOICE, "grid")
    assert [(item.value, item.help) for item in mode.choices] == [*help_texts.items()]
    tracked = field_of("tracked", {"type": ["boolean", "null"], "x-placeholder": "no"})
    assert (tracked.kind, tracked.default) == (FieldKind.BOOLEAN, False)


def test_a_field_is_shown_with_the_first_of_those_it_depends_on() -> None:
    slot = {"type": "integer", "x-shown-when": {"training": "single", "evaluation": "one"}}
    mode = {"type": "string"}
    (_, found) = fields_of({"evaluation": mode, "slot": slot})
    assert found.shown == ShownWhen("evaluation", "one")
    (found,) = fields_of({"slot": slot})
    assert found.shown is None


def test_titles_are_words() -> None:
    assert title_of("learning_rate") == "Learning rate"
    assert title_of("gae_lambda") == "GAE lambda"
    assert title_of("") == ""


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("7", 7),
        (" 7 ", 7),
        ("1e6", 1_000_000),
        ("500_000", 500_000),
        ("500,000", 500_000),
        ("2.5e3", 2500),
        ("1e12", 10**12),
    ],
)
def test_whole_numbers_as_people_write_them(text: str, value: int) -> None:
    assert read_entry(INTEGER, text) == value


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0", "minimum"),
        ("-1", "minimum"),
        ("1e30", "too large"),
        ("1e999999999", "too large"),
        ("9" * 10_000, "too large"),
        ("nan", "finite"),
        ("inf", "finite"),
        ("abc", "not a number"),
        ("1,5", "not a number"),
        ("1.5", "whole"),
        ("", "Give a value"),
        ("💥", "not a number"),
    ],
)
def test_what_is_no_whole_number_is_told_in_a_short_sentence(text: str, words: str) -> None:
    with pytest.raises(EntryError, match=words) as caught:
        read_entry(INTEGER, text)
    assert len(str(caught.value)) < 80


@pytest.mark.parametrize("text", ["2.5e-4", "0.00025", "2.5E-4"])
def test_small_numbers_keep_their_value(text: str) -> None:
    assert read_entry(NUMBER, text) == 0.00025


@pytest.mark.parametrize("text", ["nan", "-1", "1e400", "1e-400", "x"])
def test_what_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(EntryError):
        read_entry(NUMBER, text)


@pytest.mark.parametrize(
    ("text", "value"), [("1..5", "1..5"), ("1-5", "1..5"), ("1–3,9", "1..3,9"), ("4", "4")]
)
def test_seeds(text: str, value: str) -> None:
    assert read_entry(Field("seeds", "Seeds", FieldKind.SEEDS), text) == value


@pytest.mark.parametrize("text", ["5..1", "a", "1,1", "-3", "1..2000", "1.5", ",", "1..", "9" * 99])
def test_seeds_that_are_none(text: str) -> None:
    field = Field("seeds", "Seeds", FieldKind.SEEDS)
    if text == "9" * 99:
        assert read_entry(field, text)  # a large seed is for the worker to refuse
        return
    with pytest.raises(EntryError):
        read_entry(field, text)


@pytest.mark.parametrize("text", ["Cart Pole", "a\nb", "x" * 10_000, "a\u202eb", "\x00"])
def test_environment_ids_are_single_words(text: str) -> None:
    with pytest.raises(EntryError):
        read_entry(Field("env_id", "Environment", FieldKind.ENVIRONMENT), text)


def test_patterns_are_explained_not_quoted() -> None:
    field = field_of("id", {"type": "string", "pattern": "^[a-z]+$", "description": "letters only"})
    with pytest.raises(EntryError, match="Letters only"):
        read_entry(field, "A1")


def test_every_parameter_of_every_algorithm_can_be_edited_and_read_back() -> None:
    """A form that drops one silently would start runs nobody asked for."""
    seen = 0
    for algorithm in algorithms():
        for name, schema in algorithm.parameters.items():
            field = field_of(name, schema)
            assert read_entry(field, entry_of(field, field.default)) == field.default
            changed: Any
            match field.kind:
                case FieldKind.BOOLEAN:
                    changed = not field.default
                case FieldKind.INTEGER:
                    changed = (field.default or 0) + 1
                case FieldKind.NUMBER:
                    changed = (field.default or 0.5) / 2
                case FieldKind.CHOICE:
                    changed = field.choices[-1].value
                case FieldKind.JSON:
                    changed = {"size": 3}
                case _:
                    changed = "other-v1"
            assert read_entry(field, entry_of(field, changed)) == changed, (algorithm.name, name)
            seen += 1
    assert seen > 400


def test_a_schema_says_itself_what_people_see_of_a_setting() -> None:
    schema = {
        **{"type": ["integer", "null"], "default": None, "title": "Limit", "x-section": "Run"},
        **{"x-unit": "MB", "x-placeholder": "none"},
    }
    found = field_of("limit_mb", schema, section="Elsewhere")
    assert (found.title, found.section, found.unit) == ("Limit", "Run", "MB")
    assert found.placeholder == "none"
    bare = field_of("limit_mb", {"type": "integer"}, section="Elsewhere")
    assert (bare.title, bare.section, bare.unit) == ("Limit MB", "Elsewhere", "")
