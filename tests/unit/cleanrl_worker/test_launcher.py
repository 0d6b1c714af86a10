"""Flags to arguments: presets, types, bounds, and errors that name the flag."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.launcher import (
    default_arguments,
    load_module,
    parse_arguments,
    restore_arguments,
)
from cleanrl_worker.registry import DEFAULT_ALGO_REGISTRY, Algorithm
from mosaic.errors import ConfigError, DependencyError
from mosaic.worker import option
from mosaic.worker.config import config_to_dict


@dataclass(frozen=True)
class SampleArguments(Arguments):
    anneal_lr: bool = option(True, help="the learning rate falls")
    target_kl: float | None = option(None, help="stop an update early")
    update_epochs: int = option(4, help="passes over the data", minimum=1)


@pytest.fixture
def algorithm(monkeypatch: pytest.MonkeyPatch) -> Algorithm:
    module: Any = ModuleType("sample_algorithm")
    module.ARGUMENTS = SampleArguments
    monkeypatch.setitem(sys.modules, "sample_algorithm", module)
    preset = {"env_id": "Pendulum-v1", "update_epochs": 10}
    return Algorithm("sample", "sample_algorithm", "for tests", ("discrete",), preset=preset)


def test_preset_gives_the_defaults_and_flags_win(algorithm: Algorithm) -> None:
    arguments = parse_arguments(algorithm, [])
    assert isinstance(arguments, SampleArguments)
    assert arguments == default_arguments(algorithm)
    assert (arguments.exp_name, arguments.env_id) == ("sample", "Pendulum-v1")
    assert (arguments.update_epochs, arguments.num_envs) == (10, 1)
    given = parse_arguments(algorithm, ["--update-epochs=2", "--env-id=CartPole-v1"])
    assert (given.update_epochs, given.env_id) == (2, "CartPole-v1")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("flags", "name", "value"),
    [
        (["--anneal-lr"], "anneal_lr", True),
        (["--no-anneal-lr"], "anneal_lr", False),
        (["--no-cuda"], "cuda", False),
        (["--target-kl=0.02"], "target_kl", 0.02),
        (["--target-kl=None"], "target_kl", None),
        (["--learning-rate=3e-4"], "learning_rate", 3e-4),
        (["--total-timesteps", "7"], "total_timesteps", 7),
        (["--total_timesteps=7"], "total_timesteps", 7),
        (['--env-kwargs={"gravity": 9.8}'], "env_kwargs", {"gravity": 9.8}),
        (["--vectorization=loop"], "vectorization", "loop"),
        (["--wandb-entity=-odd"], "wandb_entity", "-odd"),
        (["--exp-name="], "exp_name", "sample"),
    ],
)
def test_flags_are_named_as_in_cleanrl(
    algorithm: Algorithm, flags: list[str], name: str, value: Any
) -> None:
    assert getattr(parse_arguments(algorithm, flags), name) == value


@pytest.mark.parametrize(
    ("flags", "field", "said"),
    [
        (["--num-envs=many"], "num_envs", "'many' is not a valid value; integer was expected"),
        (["--seed=1", "--num-envs", "many"], "num_envs", "'many' is not a valid value"),
        (["--num-envs"], "num_envs", "is not a valid value"),
        (["--vectorization=magic"], "vectorization", "native"),
        (["--cuda=yes"], "cuda", "boolean was expected"),
        (["--env-kwargs=5"], "env_kwargs", "object was expected"),
        (["--num-envs=0"], "num_envs", "0 is less than the minimum of 1"),
        (["--gamma=1.5"], "gamma", "greater than the maximum of 1.0"),
        (["--update-epochs=0"], "update_epochs", "less than the minimum"),
        (["--learning-rate=nan"], "learning_rate", "not a finite number"),
        (["--total-timesteps=0"], "total_timesteps", "less than the minimum"),
        (["--learning-rat=1"], "learning_rat", "not a parameter of sample"),
        (["--no-num-envs"], "no_num_envs", "not a parameter of sample"),
        (["stray"], "stray", "not a parameter of sample"),
        (["--exp-name=../../etc"], "exp_name", "cannot be the name of a file"),
        (["--exp-name=.hidden"], "exp_name", "cannot be the name of a file"),
    ],
)
def test_bad_flags_are_refused_by_name(
    algorithm: Algorithm,
    flags: list[str],
    field: str,
    said: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(algorithm, flags)
    assert caught.value.details["field"] == field
    assert said in caught.value.message
    assert capfd.readouterr() == ("", ""), "tyro's own box would say it twice"


def test_nearest_parameters_are_suggested(algorithm: Algorithm) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_arguments(algorithm, ["--update-epoch=3"])
    assert "update_epochs" in caught.value.hint


def test_help_lists_every_parameter_with_its_description(
    algorithm: Algorithm, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parse_arguments(algorithm, ["--help"])
    assert caught.value.code == 0
    text = capfd.readouterr().out
    assert "--update-epochs" in text and "passes over the data" in text
    assert "--no-anneal-lr" in text


def test_arguments_of_a_checkpoint_come_back(algorithm: Algorithm) -> None:
    arguments = parse_arguments(algorithm, ["--seed=9", '--env-kwargs={"g": 1}'])
    stored = {**config_to_dict(arguments), "from_a_newer_version": 1}
    assert restore_arguments(algorithm, stored) == arguments


def test_tampered_arguments_of_a_checkpoint_are_refused(algorithm: Algorithm) -> None:
    with pytest.raises(ConfigError) as caught:
        restore_arguments(algorithm, {"exp_name": "../../up"})
    assert caught.value.details["field"] == "exp_name"
    with pytest.raises(ConfigError) as caught:
        restore_arguments(algorithm, {"num_envs": "four"})
    assert caught.value.details["field"] == "num_envs"


def test_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "cleanrl_worker.algorithms.dqn", raising=False)
    for name in [name for name in sys.modules if name.startswith("cleanrl_worker.agents")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(DependencyError) as caught:
        load_module(DEFAULT_ALGO_REGISTRY["dqn"])
    assert "torch" in caught.value.message
    assert caught.value.hint == 'pip install "mosaic-rl[cleanrl]"'
