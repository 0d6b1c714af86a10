"""Every leaf of a TrainRunConfig meets every hostile value: taken exactly, or refused by name."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any

import pytest

from mosaic.contracts.run_config import TrainRunConfig, parse_run_config, parse_run_config_json
from mosaic.contracts.schema_check import shortened, violations
from mosaic.errors import ConfigError, to_wire
from tests.hostile_values import NUMBERS, VALUES
from tests.unit.contracts.test_run_config import VALID, with_value

DOCUMENT: dict[str, Any] = {**VALID, "retry": {"max_attempts": 2, "backoff_seconds": 0.5}}


def leaves(value: Any, path: str = "") -> Iterator[str]:
    """Dotted paths of everything that is no object with fields of its own."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else key)
    else:
        yield path


def parsed(document: dict[str, Any], path: str) -> TrainRunConfig | None:
    """None when it was refused, by the name of this field and with words that can be sent."""
    try:
        return parse_run_config(document)
    except ConfigError as error:
        assert str(error.details["field"]).startswith(path), error.message
        assert len(error.message) < 400
        assert to_wire(error).isascii()
        error.message.encode()
        return None


@pytest.mark.parametrize("path", [*leaves(DOCUMENT)])
def test_a_hostile_value_is_refused_by_the_name_of_its_field(path: str) -> None:
    refused = {
        name
        for name, value in VALUES.items()
        if parsed(with_value(path, value, DOCUMENT), path) is None
    }
    assert refused >= {"NaN", "infinity", "6000 digits", "lone surrogate", "NUL", "surrogate key"}


@pytest.mark.parametrize("path", ["schedule.max_steps", "priority", "metadata.worker.config.seed"])
@pytest.mark.parametrize("name", ["6000 digits", "minus 6000 digits", "1001 digits"])
def test_a_number_without_end_is_refused_in_json_too(path: str, name: str) -> None:
    digits = "-" * (NUMBERS[name] < 0) + "1" + "0" * (5999 if "6000" in name else 1000)
    text = json.dumps(with_value(path, "HERE")).replace('"HERE"', digits)
    with pytest.raises(ConfigError, match="not a finite number") as caught:
        parse_run_config_json(text)
    assert caught.value.details["field"] == path


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_accepted_are_whole_and_within_their_bounds(name: str) -> None:
    number = NUMBERS[name]
    bounds = {
        "resources.cpus": (1, 4096),
        "resources.memory_mb": (256, 67_108_864),
        "resources.gpus.requested": (0, 8),
        "schedule.max_steps": (1, 10**15),
        "schedule.max_duration_seconds": (1, 31_536_000),
        "priority": (-100, 100),
        "retry.max_attempts": (1, 10),
    }
    for path, (least, most) in bounds.items():
        is_whole = isinstance(number, int) or number.is_integer()
        config = parsed(with_value(path, number, DOCUMENT), path)
        assert (config is not None) == (is_whole and least <= number <= most), path
        if config is not None:
            found: Any = config
            for part in path.split("."):
                found = getattr(found, part)
            assert type(found) is int and found == number


def test_whole_numbers_written_as_floats_become_integers() -> None:
    config = parse_run_config(with_value("schedule.max_steps", 1e6))
    assert repr(config.schedule.max_steps) == "1000000"


def test_large_seeds_are_kept_exactly() -> None:
    document = with_value("metadata.worker.config.seed", 2**128 + 1)
    assert parse_run_config_json(json.dumps(document)).worker.config["seed"] == 2**128 + 1


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("kind", ["integer", "number", "string", "boolean", "array", "object"])
def test_no_value_breaks_the_check_of_a_workers_schema(name: str, kind: str) -> None:
    schema = {"type": kind, "minimum": 0, "exclusiveMaximum": 10, "enum": [1], "maxLength": 5}
    for violation in violations(VALUES[name], schema, "field"):
        assert len(violation.message) < 200
        assert violation.path.startswith("field")


@pytest.mark.parametrize(
    "value", [10**6000, [10**6000], math.nan, "x" * 10**6], ids=["int", "list", "nan", "text"]
)
def test_any_value_can_be_shown_in_a_sentence(value: Any) -> None:
    assert len(shortened(value)) <= 80
