"""Flags that workers publish: how they read, what they mean, and who refuses them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from mosaic.errors import ConfigError, RequestError
from mosaic.front.flags import (
    flag_help,
    flag_settings,
    published_flags,
    read_flag,
    split_flags,
    switch_names,
    value_name,
)
from mosaic.worker import config_schema, option

SCHEMAS: dict[str, dict[str, Any]] = {
    "rounds": {"type": "integer", "minimum": 0, "x-flag": "--episodes"},
    "is_greedy": {"type": "boolean", "default": True, "x-flag": "--stochastic"},
    "is_endless": {"type": "boolean", "default": False, "x-flag": "--repeat"},
    "mood": {"type": "string"},
}


@pytest.mark.parametrize(
    ("settings", "flags", "rest"),
    [
        ({"rounds": 0}, {"--episodes": 0}, {}),
        ({"is_greedy": False, "is_endless": True}, {"--stochastic": True, "--repeat": True}, {}),
        ({"is_greedy": True, "is_endless": False}, {}, {}),
        ({"mood": "calm", "rounds": 3}, {"--episodes": 3}, {"mood": "calm"}),
    ],
)
def test_a_worker_says_which_of_its_options_has_which_flag(
    settings: dict[str, Any], flags: dict[str, Any], rest: dict[str, Any]
) -> None:
    assert split_flags(settings, SCHEMAS) == (flags, rest)
    usual = {"is_greedy": True, "is_endless": False}
    assert {**usual, **flag_settings(flags, SCHEMAS, "it"), **rest} == {**usual, **settings}


def test_a_flag_that_the_worker_has_no_option_for_is_refused_by_its_name() -> None:
    with pytest.raises(RequestError, match="it has no option for --gamma"):
        flag_settings({"--gamma": 0.0}, SCHEMAS, "it")


@pytest.mark.parametrize("value", ["many", True, -1])
def test_a_value_that_another_worker_would_take_is_refused_by_the_flag(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^--episodes: ") as caught:
        flag_settings({"--episodes": value}, SCHEMAS, "it")
    assert caught.value.details["field"] == "rounds"


@pytest.mark.parametrize(("given", "is_greedy"), [(True, False), (False, True)])
def test_the_contrary_of_a_switch_takes_it_back(given: bool, is_greedy: bool) -> None:
    assert flag_settings({"--stochastic": given}, SCHEMAS, "it") == {"is_greedy": is_greedy}
    assert switch_names("--stochastic") == ("--stochastic", "--no-stochastic")
    assert switch_names("--no-record") == ("--record", "--no-record")


def test_learners_share_a_flag() -> None:
    learners: dict[str, dict[str, dict[str, Any]]] = {
        "one": {"start": {"type": "string", "x-flag": "--from"}},
        "two": {
            "begin": {"type": "integer", "x-flag": "--from", "x-modes": ["train"]},
            "other": {"type": "integer", "x-flag": "--other", "x-modes": ["policy_eval"]},
        },
    }
    found = published_flags(learners, "train")
    assert list(found) == ["--from"]
    assert [schema["type"] for schema in found["--from"]] == ["string", "integer"]
    assert list(published_flags(learners, "policy_eval")) == ["--other"]


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", {"type": ["integer", "null"]}, 5),
        ("none", {"type": ["string", "null"]}, "none"),
        ("1e-3", {"type": "number"}, 0.001),
        ("fast", {"enum": ["fast", None]}, "fast"),
        ("[1, 2]", {"type": "array"}, [1, 2]),
    ],
)
def test_a_value_is_what_the_schema_says(text: str, schema: dict[str, Any], value: Any) -> None:
    assert read_flag(text, [schema]) == value


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("x", {"type": "integer"}),
        ("-1", {"type": "integer", "minimum": 0}),
        ("9" * 400, {"type": "integer"}),
        ("nan", {"type": "number"}),
        ("null", {"enum": ["fast", None]}),
        ("null", {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    ],
)
def test_a_value_that_no_learner_can_take_is_refused(text: str, schema: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        read_flag(text, [schema])


def test_the_first_learner_that_can_read_a_value_does() -> None:
    assert read_flag("12", [{"type": "integer", "maximum": 9}, {"type": "string"}]) == "12"


@dataclass(frozen=True)
class Sample:
    begin: str | None = option(
        None,
        help="the networks of a checkpoint",
        editor="checkpoint",
        title="Begin with",
        placeholder="random networks",
    )
    notes: str = option("", help="your words")
    limit: int = option(1000, help="then it stops", title="Limit", unit="MB")
    is_greedy: bool = option(
        True, help="the best action", title="Deterministic actions", flag="--stochastic"
    )
    is_kept: bool = option(True, help="keep all", flag="--no-record")


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        (
            "begin",
            "RUN|PATH",
            "begin with: the networks of a checkpoint; default: random networks",
        ),
        ("notes", "TEXT", "your words"),
        ("limit", "N", "limit in MB: then it stops; default: 1000"),
        ("is_greedy", "", "switches off deterministic actions (the best action)"),
        ("is_kept", "", "keep all; default: yes"),
    ],
)
def test_help_says_what_a_form_says(name: str, value: str, words: str) -> None:
    schema = config_schema(Sample)["properties"][name]
    assert flag_help(schema) == words
    if value:
        assert value_name(schema) == value
