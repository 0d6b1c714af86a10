"""The command line of an algorithm: flags to values, and errors that name the flag."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tyro")

from cleanrl_worker.command_line import Flag, parse_flags, print_help
from cleanrl_worker.flags import render_flags
from cleanrl_worker.launcher import make_arguments
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.sample_algorithm import SAMPLE


@pytest.mark.parametrize(
    ("flags", "values"),
    [
        ([], {}),
        (["--anneal-lr"], {"anneal_lr": True}),
        (["--no-anneal-lr"], {"anneal_lr": False}),
        (["--no-cuda", "--seed=2"], {"cuda": False, "seed": 2}),
        (["--target-kl=0.02"], {"target_kl": 0.02}),
        (["--target-kl=None"], {"target_kl": None}),
        (["--learning-rate=3e-4"], {"learning_rate": 3e-4}),
        (["--total-timesteps", "7"], {"total_timesteps": 7}),
        (["--total_timesteps=7"], {"total_timesteps": 7}),
        (['--env-kwargs={"gravity": 9.8}'], {"env_kwargs": {"gravity": 9.8}}),
        (["--vectorization=loop"], {"vectorization": "loop"}),
        (["--wandb-entity=-odd"], {"wandb_entity": "-odd"}),
        (["--update-epochs=10"], {"update_epochs": 10}),  # given, though it is the default
    ],
)
def test_flags_are_named_as_in_cleanrl(flags: list[str], values: dict[str, Any]) -> None:
    assert parse_flags(SAMPLE, flags) == values


@pytest.mark.parametrize(
    ("flags", "field", "said"),
    [
        (["--num-envs=many"], "num_envs", "'many' is not a valid value; integer was expected"),
        (["--seed=1", "--num-envs", "many"], "num_envs", "'many' is not a valid value"),
        (["--num-envs"], "num_envs", "is not a valid value"),
        (["--vectorization=magic"], "vectorization", "native"),
        (["--cuda=yes"], "cuda", "boolean was expected"),
        (["--no-cuda=yes"], "cuda", "boolean was expected"),
        (["--env-kwargs=5"], "env_kwargs", "object was expected"),
        (["--learning-rat=1"], "learning_rat", "not a parameter of sample"),
        (["--no-num-envs"], "no_num_envs", "not a parameter of sample"),
        (["stray"], "stray", "not a parameter of sample"),
    ],
)
def test_bad_flags_are_refused_by_name(
    flags: list[str], field: str, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_flags(SAMPLE, flags)
    assert caught.value.details["field"] == field
    assert said in caught.value.message
    assert capfd.readouterr() == ("", ""), "tyro's own box would say it twice"


def test_a_truth_is_said_without_a_value() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_flags(SAMPLE, ["--anneal-lr=1"])
    assert caught.value.hint == "write --anneal-lr or --no-anneal-lr"


def test_nearest_flags_are_suggested() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_flags(SAMPLE, ["--update-epoch=3"])
    assert "update_epochs" in caught.value.hint


def test_help_lists_every_parameter_with_its_description(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        print_help("python -m sample", SAMPLE, [Flag("resume", str | None, None, "a checkpoint")])
    assert caught.value.code == 0
    text = capfd.readouterr().out
    assert "--update-epochs" in text and "passes over the data" in text
    assert "--no-anneal-lr" in text and "--resume" in text


VALUES: list[Any] = [
    True, False, 0, 1, 5, 4.0, 1e6, 1.5, 3e-4, 2.0**53, 1e300, 10**20, float("nan"), float("inf"),
    "", "5", " 5 ", "1_000", "1e6", "3e-4", "nan", "1e400", "٣", "½", "9" * 5000,
    "true", "True", "1", "None", "none", "loop", "Loop", "a b", "a=b", "-h", "日本", "\ud800",
    '{"g": 1}', "[1]", "{", {}, {"g": [9.8, None]}, {"ü": float("nan")},
]  # fmt: skip


@pytest.mark.parametrize(
    "name", ["anneal_lr", "num_envs", "gamma", "target_kl", "wandb_entity", "exp_name",
             "vectorization", "env_kwargs"],
)  # fmt: skip
def test_flags_of_a_config_do_what_the_config_does(name: str) -> None:
    def outcome(values: dict[str, Any]) -> str:
        try:
            return repr(make_arguments(SAMPLE, values))
        except ConfigError:
            return "refused"

    def typed_in(values: dict[str, Any]) -> str:
        try:
            return outcome(parse_flags(SAMPLE, render_flags(values)))
        except ConfigError:
            return "refused"

    found = {repr(value): outcome({name: value}) for value in VALUES}
    assert found == {repr(value): typed_in({name: value}) for value in VALUES}
    assert {text == "refused" for text in found.values()} == {True, False}
