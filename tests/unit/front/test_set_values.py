"""`--set` texts become the types the worker's schema asks for, or a clear error."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.errors import ConfigError
from mosaic.front.set_values import parse_settings

SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "env_id": {"type": "string"},
        "seed": {"type": "integer", "minimum": 0},
        "total_timesteps": {"type": ["integer", "null"], "minimum": 1},
        "learning_rate": {"type": "number", "exclusiveMinimum": 0},
        "anneal": {"type": "boolean"},
        "policy": {"enum": ["random", "noop", 3]},
        "layers": {"type": "array", "items": {"type": "integer"}},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "extras": {"type": "object", "properties": {}, "additionalProperties": True},
        "optimizer": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"eps": {"type": "number"}},
        },
    },
}


@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("env_id=CartPole-v1", {"env_id": "CartPole-v1"}),
        ("env_id=3", {"env_id": "3"}),
        ("env_id=a=b", {"env_id": "a=b"}),
        ("env_id=", {"env_id": ""}),
        ("seed=7", {"seed": 7}),
        ("total_timesteps=1e6", {"total_timesteps": 1_000_000}),
        ("total_timesteps=1_000", {"total_timesteps": 1000}),
        ("total_timesteps=null", {"total_timesteps": None}),
        ("learning_rate=3e-4", {"learning_rate": 3e-4}),
        ("learning_rate=1", {"learning_rate": 1.0}),
        ("anneal=true", {"anneal": True}),
        ("anneal=No", {"anneal": False}),
        ("anneal=0", {"anneal": False}),
        ("policy=noop", {"policy": "noop"}),
        ("policy=3", {"policy": 3}),
        ("layers=[64, 64]", {"layers": [64, 64]}),
        ("either=5", {"either": 5}),
        ("either=five", {"either": "five"}),
        ('extras={"a": 1}', {"extras": {"a": 1}}),
        ("extras.capture_video=true", {"extras": {"capture_video": True}}),
        ("extras.note=hello", {"extras": {"note": "hello"}}),
        ("optimizer.eps=1e-5", {"optimizer": {"eps": 1e-5}}),
    ],
)
def test_text_gets_the_type_of_the_schema(pair: str, expected: dict[str, Any]) -> None:
    config = parse_settings([pair], SCHEMA)
    assert config == expected
    for key, value in expected.items():
        assert type(config[key]) is type(value)


def test_later_settings_join_earlier_ones() -> None:
    pairs = ["seed=1", "extras.a=1", "extras.b=x", "seed=2"]
    assert parse_settings(pairs, SCHEMA) == {"seed": 2, "extras": {"a": 1, "b": "x"}}


@pytest.mark.parametrize(
    ("pair", "field"),
    [
        ("seed=abc", "seed"),
        ("seed=1.5", "seed"),
        ("seed=-1", "seed"),
        ("learning_rate=0", "learning_rate"),
        ("learning_rate=nan", "learning_rate"),
        ("anneal=maybe", "anneal"),
        ("policy=other", "policy"),
        ("layers=64", "layers"),
        ('layers=["a"]', "layers[0]"),
        ("layers=[1", "layers"),
    ],
)
def test_value_that_does_not_fit_names_the_field(pair: str, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings([pair], SCHEMA)
    assert caught.value.details["field"] == field
    assert caught.value.exit_status == 2


def test_unknown_key_suggests_the_close_one() -> None:
    with pytest.raises(ConfigError, match="total_timestep'") as caught:
        parse_settings(["total_timestep=5"], SCHEMA)
    assert "did you mean 'total_timesteps'?" in caught.value.hint


def test_unknown_nested_key_is_refused_too() -> None:
    with pytest.raises(ConfigError, match="epz"):
        parse_settings(["optimizer.epz=1"], SCHEMA)


@pytest.mark.parametrize("pair", ["seed", "=1", ""])
def test_pair_without_key_or_equals_sign_shows_an_example(pair: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings([pair], SCHEMA)
    assert "--set seed=1" in caught.value.hint


def test_reaching_into_a_plain_value_is_refused() -> None:
    with pytest.raises(ConfigError):
        parse_settings(["extras.a=1", "extras.a.b=2"], SCHEMA)


def test_worker_without_a_schema_takes_json_or_text() -> None:
    pairs = ["a=1", "b=text", "c=[1]", "d=true", "e.f=2"]
    expected = {"a": 1, "b": "text", "c": [1], "d": True, "e": {"f": 2}}
    assert parse_settings(pairs, {}) == expected
