"""What a worker's schema says about its options, and what is made of it."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.options import (
    OptionText,
    by_section,
    flagged,
    is_switch,
    of_mode,
    option_text,
    switched,
)

WHOLE = OptionText(
    "Speed",
    "",
    2,
    "m/s",
    "as before",
    "--speed",
    ("train", "policy_eval"),
    shown_when={"is_moving": True},
    choice_help={"fast": "as fast as it can"},
)


@pytest.mark.parametrize("text", [OptionText(), WHOLE, OptionText(section="Run", placeholder="")])
def test_what_is_published_is_read_again(text: OptionText) -> None:
    assert option_text(text.schema_entries()) == text


def test_what_is_not_said_is_not_published() -> None:
    assert OptionText().schema_entries() == {}
    assert OptionText(section="").schema_entries() == {"x-section": ""}


@pytest.mark.parametrize("value", [None, 1, True, [], [1], {}, "-x", "--x y", "--X=1"])
def test_a_schema_from_anywhere_can_be_read(value: Any) -> None:
    names = (
        "section",
        "unit",
        "placeholder",
        "flag",
        "modes",
        "order",
        "shown-when",
        "choice-help",
    )
    found = option_text(dict.fromkeys(("title", *(f"x-{name}" for name in names)), value))
    assert found.flag == "" and found.modes == ()
    assert found.shown_when == {} and found.choice_help == {}
    assert found.order is None or value == 1


def test_options_are_found_by_mode_and_flag_in_their_order() -> None:
    schemas: dict[str, dict[str, Any]] = {
        "last": {"x-modes": ["train"], "x-section": "Run"},
        "second": {"x-modes": ["train"], "x-order": 2, "x-flag": "--second"},
        "other": {"x-modes": ["policy_eval"], "x-order": 0, "x-section": "Run"},
        "first": {"x-modes": ["train"], "x-order": 1, "x-flag": "--first"},
        "bare": {},
    }
    assert list(of_mode(schemas, "train")) == ["first", "second", "last"]
    assert flagged(schemas) == {"first": "--first", "second": "--second"}


def test_a_flag_without_a_mode_is_one_of_trainings() -> None:
    schemas: dict[str, dict[str, Any]] = {"loud": {"x-flag": "--loud"}, "silent": {}}
    assert list(of_mode(schemas, "train")) == ["loud"]
    assert list(of_mode(schemas, "policy_eval")) == []


def test_sections_come_as_they_are_first_named_and_what_is_in_sight_before_them() -> None:
    schemas: dict[str, dict[str, Any]] = {
        "late": {"x-section": "Run", "x-order": 9},
        "an_object": {"type": "object"},
        "unsaid": {"type": "integer"},
        "other": {"x-section": "Frames"},
        "early": {"x-section": "Run", "x-order": 1},
        "in_sight": {"x-section": ""},
    }
    found = {section: list(options) for section, options in by_section(schemas, "Rest").items()}
    assert found == {
        "": ["in_sight"],
        "Run": ["early", "late"],
        "Rest": ["unsaid", "an_object"],
        "Frames": ["other"],
    }
    assert list(found) == ["", "Run", "Rest", "Frames"]


@pytest.mark.parametrize(("default", "set_to"), [(True, False), (False, True), (None, True)])
def test_a_flag_switches_its_option_away_from_the_default(default: Any, set_to: bool) -> None:
    assert switched({"default": default}) is set_to


@pytest.mark.parametrize(
    ("types", "is_one"),
    [("boolean", True), (["boolean", "null"], True), (["boolean", "string"], False)],
)
def test_a_switch_is_a_yes_or_no_option(types: Any, is_one: bool) -> None:
    assert is_switch({"type": types}) is is_one
