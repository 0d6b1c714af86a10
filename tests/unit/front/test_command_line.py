"""The command line of what was asked for otherwise is what the parser of `mosaic` reads."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.cli.main import build_parser
from mosaic.errors import RequestError
from mosaic.front.command_line import (
    evaluation_words,
    flag_settings,
    split_flags,
    submission_words,
    train_words,
    worker_words,
)

SCHEMAS: dict[str, dict[str, Any]] = {
    "rounds": {"type": "integer", "x-flag": "--episodes"},
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


def test_a_flag_that_the_worker_has_no_option_for_is_refused() -> None:
    assert flag_settings({"--video": False, "--gamma": None}, SCHEMAS, "it") == {}
    with pytest.raises(RequestError, match="it has no option for --gamma"):
        flag_settings({"--gamma": 0.0}, SCHEMAS, "it")


def test_an_evaluation_is_read_by_the_parser_again() -> None:
    extras = {"rounds": 5, "is_greedy": False, "mood": "1"}
    words = evaluation_words("RUN", extras=extras, schemas=SCHEMAS, name="-x", use_gpu=True)
    found = build_parser().parse_args(words)
    assert (found.policy, found.episodes, found.stochastic) == ("RUN", 5, True)
    assert (found.name, found.cuda, found.repeat) == ("-x", True, False)
    assert found.extra == ['mood="1"']


def test_a_training_is_read_by_the_parser_again() -> None:
    words = train_words(
        "ppo",
        "CartPole-v1",
        seeds="1..3",
        parameters={"gamma": 0.9},
        extras={"start": "/a b"},
        schemas={"start": {"x-flag": "--warm-start"}},
        variables=["KEY"],
        memory_mb=1024,
        priority=-5,
    )
    found = build_parser().parse_args(words)
    assert (found.algo, found.env_id, found.seeds) == ("ppo", "CartPole-v1", "1..3")
    assert (found.set, found.warm_start, found.extra) == (["gamma=0.9"], "/a b", [])
    assert (found.env, found.memory_mb, found.priority) == (["KEY"], 1024, -5)


def test_runs_of_any_worker_and_of_a_file_are_read_by_the_parser_again() -> None:
    run = build_parser().parse_args(worker_words("it", {"a": [1]}, gpus=1, name=None))
    assert (run.worker, run.set, run.gpus, run.name) == ("it", ["a=[1]"], 1, None)
    submit = build_parser().parse_args(submission_words("c.json", ["A", "B"]))
    assert (submit.config, submit.env) == ("c.json", ["A", "B"])
