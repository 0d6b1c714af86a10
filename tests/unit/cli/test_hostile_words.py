"""Every option that takes a number meets every hostile word; so do --set, --env and names."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.cli.main import build_parser
from mosaic.cli.shared.submission import parse_environment
from mosaic.client.calls import config_text
from mosaic.errors import MosaicError, RequestError
from mosaic.export.run_rows import parse_choice
from mosaic.front.set_values import parse_settings
from mosaic.front.training_config import parse_seeds
from tests.unit.contracts.test_run_config import VALID

WORDS = {
    "nothing": "",
    "minus one": "-1",
    "minus zero": "-0",
    "a half": "0.5",
    "2**31": str(2**31),
    "2**32": str(2**32),
    "2**63": str(2**63),
    "2**64": str(2**64),
    "2**70": str(2**70),
    "400 digits": "9" * 400,
    "6000 digits": "9" * 6000,
    "minus 6000 digits": "-" + "9" * 6000,
    "1e308": "1e308",
    "-1e308": "-1e308",
    "1e400": "1e400",
    "NaN": "nan",
    "infinity": "inf",
    "minus infinity": "-inf",
    "hexadecimal": "0x10",
    "a word": "many",
    "true": "true",
    "half a character": "1\udcff",
    "order": "\x1b]0;x\x07",
    "a range": "0..99999999999999999999",
}


def numeric_options() -> Iterator[tuple[str, tuple[str, ...], str]]:
    """(command, what it needs besides, option)"""
    (commands,) = (
        action
        for action in build_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    for name, parser in commands.choices.items():
        needed = tuple(
            word
            for action in parser._actions
            if not action.option_strings and action.nargs in (None, "+")
            for word in ("x",)
        )
        for action in parser._actions:
            is_text = action.type in (Path, str.upper) or action.metavar == "PATH"
            if callable(action.type) and not is_text:
                yield name, needed, action.option_strings[-1]


OPTIONS = [*numeric_options()]


def test_there_are_as_many_numeric_options_as_we_think() -> None:
    assert len(OPTIONS) > 40


@pytest.mark.parametrize(("command", "needed", "option"), OPTIONS)
def test_a_number_is_within_bounds_or_refused_by_the_name_of_its_option(
    command: str, needed: tuple[str, ...], option: str
) -> None:
    refused = set()
    for name, word in WORDS.items():
        try:
            words = [command, *needed, f"{option}={word}"]
            found = build_parser(words).parse_args(words)
        except RequestError as error:
            assert f"argument {option}: " in error.message.replace("-f/", ""), name
            assert len(error.message) < 200, name
            refused.add(name)
        else:
            of_worker = getattr(found, "worker_flags", {})
            named = option.removeprefix("--").replace("-", "_")
            value = of_worker[option] if option in of_worker else getattr(found, named)
            assert isinstance(value, int | float) and math.isfinite(value), name
            assert abs(value) <= 2**128, name
    assert refused >= {"nothing", "400 digits", "6000 digits", "1e308", "NaN", "infinity", "true"}


SCHEMA = {
    "properties": {
        "whole": {"type": "integer", "minimum": 0, "maximum": 100},
        "real": {"type": "number", "minimum": 0, "maximum": 100},
        "either": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 5}, {"type": "null"}]},
        "flag": {"type": "boolean"},
        "list": {"type": "array", "items": {"type": "integer"}},
    }
}


@pytest.mark.parametrize("key", SCHEMA["properties"])
def test_a_setting_is_of_its_type_or_refused_by_its_name(key: str) -> None:
    for name, word in WORDS.items():
        try:
            value = parse_settings([f"{key}={word}"], SCHEMA)[key]
        except MosaicError as error:
            assert error.details["field"] == key, name
            assert len(error.message) < 200, name
        else:
            assert value is None or isinstance(value, bool) or 0 <= value <= 100, name


@pytest.mark.parametrize("word", WORDS.values(), ids=WORDS)
def test_ranges_of_seeds_and_episodes_have_an_end(word: str) -> None:
    for parse in (parse_seeds, parse_choice):
        try:
            parse(word)
        except MosaicError as error:
            assert len(error.message) < 200


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"environment": parse_environment(["A\udcff=1"])}, "environment"),
        ({"environment": parse_environment(["A=\udcff"])}, "environment.A"),
        ({"run_name": "a\udcff"}, "run_name"),
        ({"metadata": {"worker": {"config": parse_settings(["a.b=\udcff"], {})}}}, "a.b"),
        ({"metadata": {"worker": {"config": parse_settings(["a\udcff=1"], {})}}}, "config"),
        ({"arguments": ["x", "\udcff"]}, "arguments[1]"),
    ],
)
def test_half_a_character_from_the_shell_is_refused_before_anything_is_sent(
    changes: dict[str, object], field: str
) -> None:
    with pytest.raises(MosaicError, match="not valid Unicode") as caught:
        config_text({**VALID, **changes})
    assert str(caught.value.details["field"]).endswith(field)
