"""Whole numbers as people type them."""

from __future__ import annotations

import argparse

import pytest

from mosaic.cli.shared.argument_types import total_steps
from mosaic.errors import ConfigError
from mosaic.front.set_values import parse_settings
from mosaic.front.typed_numbers import whole_number
from mosaic.gui.forms.model.fields import EntryError, Field, FieldKind, read_entry
from mosaic.gui.forms.model.form_state import FormState

STEPS = Field("steps", "Steps", FieldKind.INTEGER, 5, schema={"type": "integer", "minimum": 1})


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("1M", 1_000_000), ("500k", 500_000), ("1.2M", 1_200_000), ("1e6", 1_000_000)),
        *(("2 M", 2_000_000), ("1,000k", 1_000_000), ("1_000", 1000), ("1,234,567", 1_234_567)),
        *((" 10m ", 10_000_000), ("1G", 10**9), ("7", 7)),
    ],
)
def test_they_are_read_alike_everywhere(text: str, number: int) -> None:
    assert whole_number(text) == number
    assert read_entry(STEPS, text) == number
    assert total_steps(text) == number
    schema = {"properties": {"steps": {"type": "integer"}}}
    assert parse_settings([f"steps={text}"], schema) == {"steps": number}


@pytest.mark.parametrize("text", ["M", "1.5", "1.2345k", "1MM", "a lot", "1e400", "nan", "k1"])
def test_nonsense_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(ValueError):
        whole_number(text)
    with pytest.raises(EntryError):
        read_entry(STEPS, text)
    with pytest.raises(argparse.ArgumentTypeError, match="whole number"):
        total_steps(text)
    with pytest.raises(ConfigError):
        parse_settings([f"steps={text}"], {"properties": {"steps": {"type": "integer"}}})


def test_what_was_typed_is_shown_in_the_usual_format() -> None:
    form = FormState([STEPS])
    form.set("steps", "1.2M")
    form.tidy("steps")
    assert form.entry("steps") == "1,200,000"
    form.set("steps", "much")
    form.tidy("steps")
    assert form.entry("steps") == "much" and form.error("steps")
