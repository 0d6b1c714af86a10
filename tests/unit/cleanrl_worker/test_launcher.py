"""Values to arguments: presets, types, bounds, and errors that name the parameter."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from cleanrl_worker.launcher import (
    default_arguments,
    load_module,
    make_arguments,
    restore_arguments,
)
from cleanrl_worker.registry import DEFAULT_ALGO_REGISTRY
from mosaic.errors import ConfigError, DependencyError
from mosaic.worker.config import config_to_dict
from tests.unit.cleanrl_worker.sample_algorithm import SAMPLE, SampleArguments


def test_preset_gives_the_defaults_and_values_win() -> None:
    arguments = make_arguments(SAMPLE, {})
    assert isinstance(arguments, SampleArguments)
    assert arguments == default_arguments(SAMPLE)
    assert (arguments.exp_name, arguments.env_id) == ("sample", "Pendulum-v1")
    assert (arguments.update_epochs, arguments.num_envs) == (10, 1)
    given = make_arguments(SAMPLE, {"update_epochs": 2, "env_id": "CartPole-v1"})
    assert (given.update_epochs, given.env_id) == (2, "CartPole-v1")  # type: ignore[attr-defined]


def test_values_are_put_upon_other_arguments() -> None:
    old = make_arguments(SAMPLE, {"seed": 9, "exp_name": "first"})
    new = make_arguments(SAMPLE, {"num_envs": 3}, base=old)
    assert (new.seed, new.exp_name, new.num_envs) == (9, "first", 3)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("anneal_lr", False, False),
        ("num_envs", 4.0, 4),
        ("num_envs", "5", 5),
        ("num_envs", " 1_000 ", 1000),
        ("num_envs", "٣", 3),
        ("num_envs", 10**20, 10**20),
        ("total_timesteps", 1e6, 1_000_000),
        ("learning_rate", 1, 1.0),
        ("learning_rate", "3e-4", 3e-4),
        ("learning_rate", 2**53 + 1, 2.0**53),
        ("target_kl", "0.02", 0.02),
        ("target_kl", None, None),
        ("target_kl", "None", None),
        ("vectorization", "loop", "loop"),
        ("env_kwargs", {"gravity": 9.8}, {"gravity": 9.8}),
        ("env_kwargs", '{"gravity": [1, null]}', {"gravity": [1, None]}),
        ("wandb_entity", 7, "7"),
        ("wandb_entity", 7.0, "7"),
        ("wandb_entity", "None", None),
        ("wandb_project_name", "None", "None"),
        ("wandb_project_name", "日本 --seed=3", "日本 --seed=3"),
        ("exp_name", "", "sample"),
    ],
)
def test_what_can_mean_only_one_thing_is_taken(name: str, given: Any, value: Any) -> None:
    found = getattr(make_arguments(SAMPLE, {name: given}), name)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("num_envs", "many", "'many' is not a valid value; integer was expected"),
        ("num_envs", 1.5, "1.5 is not a valid value; integer was expected"),
        ("num_envs", "1e6", "integer was expected"),
        ("num_envs", 2.0**53, "integer was expected"),  # which of the numbers it stands for?
        ("num_envs", True, "True is not a valid value; integer was expected"),
        ("num_envs", False, "False is not a valid value"),
        ("num_envs", "9" * 5000, "integer was expected"),
        ("num_envs", float("nan"), "integer was expected"),
        ("num_envs", [4], "[4] is not a valid value"),
        ("num_envs", {"a": 1}, "integer was expected"),
        ("num_envs", None, "integer was expected"),
        ("num_envs", 0, "0 is less than the minimum of 1"),
        ("gamma", 1.5, "greater than the maximum of 1.0"),
        ("gamma", "½", "number was expected"),
        ("learning_rate", "nan", "not a finite number"),
        ("learning_rate", float("inf"), "not a finite number"),
        ("learning_rate", 10**400, "number was expected"),
        ("target_kl", "none", "number or null was expected"),
        ("cuda", "true", "boolean was expected"),
        ("cuda", 1, "boolean was expected"),
        ("anneal_lr", "--seed=3", "boolean was expected"),
        ("vectorization", "magic", "auto or native or loop or processes was expected"),
        ("vectorization", " loop", "was expected"),
        ("env_kwargs", 5, "object was expected"),
        ("env_kwargs", "[1]", "object was expected"),
        ("env_kwargs", "[" * 100_000, "object was expected"),
        ("wandb_entity", ["a"], "string or null was expected"),
        ("wandb_entity", True, "string or null was expected"),
        ("tensorboard_dir", False, "string or null was expected"),
        ("exp_name", "../../etc", "cannot be the name of a file"),
        ("exp_name", ".hidden", "cannot be the name of a file"),
        ("no_cuda", True, "not a parameter of sample"),
    ],
)
def test_other_values_are_refused_by_name(name: str, given: Any, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_arguments(SAMPLE, {"seed": 1, name: given})
    assert caught.value.details["field"] == name
    assert said in caught.value.message and len(caught.value.message) < 300


def test_nearest_parameters_are_suggested() -> None:
    with pytest.raises(ConfigError) as caught:
        make_arguments(SAMPLE, {"update_epoch": 3})
    assert "update_epochs" in caught.value.hint


def test_arguments_of_a_checkpoint_come_back() -> None:
    arguments = make_arguments(SAMPLE, {"seed": 9, "env_kwargs": {"g": 1}})
    stored = {**config_to_dict(arguments), "from_a_newer_version": 1}
    assert restore_arguments(SAMPLE, stored) == arguments


def test_tampered_arguments_of_a_checkpoint_are_refused() -> None:
    with pytest.raises(ConfigError) as caught:
        restore_arguments(SAMPLE, {"exp_name": "../../up"})
    assert caught.value.details["field"] == "exp_name"
    with pytest.raises(ConfigError) as caught:
        restore_arguments(SAMPLE, {"num_envs": "four"})
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
