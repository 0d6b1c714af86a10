"""What a worker's schema says about its options, and what is made of it."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.options import OptionText, flagged, of_mode, of_section, option_text, switched

WHOLE = OptionText("Speed", "", 2, "m/s", "as before", "--speed", ("train", "policy_eval"))


@pytest.mark.parametrize("text", [OptionText(), WHOLE, OptionText(section="Run", placeholder="")])
def test_what_is_published_is_read_again(text: OptionText) -> None:
    assert option_text(text.schema_entries()) == text


def test_what_is_not_said_is_not_published() -> None:
    assert OptionText().schema_entries() == {}
    assert OptionText(section="").schema_entries() == {"x-section": ""}


@pytest.mark.parametrize("value", [None, 1, True, [], [1], {}, "-x"])
def test_a_schema_from_anywhere_can_be_read(value: Any) -> None:
    keys = ("title", "x-section", "x-unit", "x-placeholder", "x-flag", "x-modes", "x-order")
    found = option_text(dict.fromkeys(keys, value))
    assert found.flag == "" and found.modes == ()
    assert found.order is None or value == 1


def test_options_are_found_by_mode_section_and_flag_in_their_order() -> None:
    schemas: dict[str, dict[str, Any]] = {
        "last": {"x-modes": ["train"], "x-section": "Run"},
        "second": {"x-modes": ["train"], "x-order": 2, "x-flag": "--second"},
        "other": {"x-modes": ["policy_eval"], "x-order": 0, "x-section": "Run"},
        "first": {"x-modes": ["train"], "x-order": 1, "x-flag": "--first"},
        "bare": {},
    }
    assert list(of_mode(schemas, "train")) == ["first", "second", "last"]
    assert list(of_section(schemas, "Run")) == ["other", "last"]
    assert flagged(schemas) == {"first": "--first", "second": "--second"}


@pytest.mark.parametrize(("default", "set_to"), [(True, False), (False, True), (None, True)])
def test_a_flag_switches_its_option_away_from_the_default(default: Any, set_to: bool) -> None:
    assert switched({"default": default}) is set_to
