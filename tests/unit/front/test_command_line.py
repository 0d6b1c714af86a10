"""The command line of what was asked for otherwise is what the parser of `mosaic` reads."""

from __future__ import annotations

from typing import Any

from mosaic.cli.main import build_parser
from mosaic.front.command_line import (
    evaluation_words,
    submission_words,
    train_words,
    worker_words,
)

EVALUATING: dict[str, Any] = {"x-modes": ["policy_eval"]}
SCHEMAS: dict[str, dict[str, Any]] = {
    "rounds": {"type": "integer", "x-flag": "--episodes", **EVALUATING},
    "is_greedy": {"type": "boolean", "default": True, "x-flag": "--stochastic", **EVALUATING},
    "mood": {"type": "string"},
}


def test_an_evaluation_is_read_by_the_parser_again() -> None:
    extras = {"rounds": 5, "is_greedy": False, "mood": "1"}
    words = evaluation_words("RUN", extras=extras, schemas=SCHEMAS, name="-x", use_gpu=True)
    found = build_parser().parse_args(words)
    assert found.worker_flags == {"--episodes": 5, "--stochastic": True}
    assert (found.policy, found.name, found.cuda) == ("RUN", "-x", True)
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
    assert (found.set, found.extra) == (["gamma=0.9"], [])
    assert found.worker_flags == {"--warm-start": "/a b"}
    assert (found.env, found.memory_mb, found.priority) == (["KEY"], 1024, -5)


def test_runs_of_any_worker_and_of_a_file_are_read_by_the_parser_again() -> None:
    run = build_parser().parse_args(worker_words("it", {"a": [1]}, gpus=1, name=None))
    assert (run.worker, run.set, run.gpus, run.name) == ("it", ["a=[1]"], 1, None)
    submit = build_parser().parse_args(submission_words("c.json", ["A", "B"]))
    assert (submit.config, submit.env) == ("c.json", ["A", "B"])
