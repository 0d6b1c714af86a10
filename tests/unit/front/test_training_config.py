"""From `mosaic train ALGO ENV --set …` to the document that is submitted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo
from mosaic.contracts.run_config import parse_run_config
from mosaic.errors import ConfigError
from mosaic.front.set_values import parse_settings
from mosaic.front.training_config import (
    Training,
    check_fit,
    label,
    parse_seeds,
    run_document,
    train_document,
    training_settings,
)

PPO = AlgorithmInfo(
    name="some_algo",
    worker="some",
    summary="a test",
    default_env_id="CartPole-v1",
    parameters={
        "total_timesteps": {"type": "integer", "default": 1000, "minimum": 1},
        "learning_rate": {"type": "number", "default": 0.1, "minimum": 0},
        "anneal_lr": {"type": "boolean", "default": True},
        "env_id": {"type": "string", "default": "CartPole-v1"},
        "seed": {"type": "integer", "default": 1},
    },
)


def settings(*pairs: str, env_id: str | None = None, **given: int | None) -> dict[str, object]:
    return training_settings(
        Training(
            PPO,
            env_id or "",
            total_timesteps=given.get("total_timesteps"),
            seed=given.get("seed"),
            parameters=parse_settings(
                pairs, {"properties": PPO.parameters, "additionalProperties": False}
            ),
        )
    )


def test_defaults_come_from_the_algorithm() -> None:
    assert settings() == {
        "algo": "some_algo",
        "env_id": "CartPole-v1",
        "total_timesteps": 1000,
        "extras": {},
    }


def test_an_algorithm_of_another_source_brings_its_extras_and_its_own_defaults() -> None:
    parameters = {"gamma": {"type": "number"}}
    other = replace(
        PPO, parameters=parameters, default_env_id="", extras={"source": "there", "notes": "x"}
    )
    found = training_settings(Training(other, parameters={"gamma": 1.0}, extras={"notes": "y"}))
    assert found == {
        "algo": "some_algo",
        "extras": {"source": "there", "notes": "y", "algo_params": {"gamma": 1.0}},
    }


def test_parameters_are_typed_and_reach_the_algorithm() -> None:
    found = settings("learning_rate=1e-3", "anneal_lr=false", env_id="Acrobot-v1", seed=0)
    assert found["extras"] == {"algo_params": {"learning_rate": 0.001, "anneal_lr": False}}
    assert found["env_id"] == "Acrobot-v1"
    assert found["seed"] == 0


def test_what_has_a_field_of_its_own_is_not_passed_twice() -> None:
    found = settings("seed=7", "total_timesteps=5e3", "env_id=Taxi-v4")
    assert (found["seed"], found["total_timesteps"], found["env_id"]) == (7, 5000, "Taxi-v4")
    assert found["extras"] == {}


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("learning_rat=1", "learning_rate"),
        ("learning_rate=-1", "0"),
        ("anneal_lr=maybe", "boolean"),
    ],
)
def test_bad_parameters_are_refused_by_name(pair: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settings(pair)
    assert told in caught.value.message + caught.value.hint


@pytest.mark.parametrize("steps", [0, -5])
def test_no_steps_are_refused_not_replaced_by_the_default(steps: int) -> None:
    with pytest.raises(ConfigError, match="total-timesteps"):
        settings(total_timesteps=steps)


def environment(action_kind: str, observation_kind: str) -> EnvironmentInfo:
    return EnvironmentInfo(
        id="Some-v0",
        family="some",
        summary="",
        observation_space="",
        action_space="",
        action_kind=action_kind,
        observation_kind=observation_kind,
    )


def test_spaces_an_algorithm_cannot_handle_are_refused_at_once() -> None:
    discrete = replace(PPO, action_spaces=("discrete",), observation_spaces=("image",))
    check_fit(discrete, "Some-v0", [environment("discrete", "image")])
    check_fit(discrete, "Unknown-v0", [environment("continuous", "vector")])
    with pytest.raises(ConfigError, match="needs discrete actions, and these are continuous"):
        check_fit(discrete, "Some-v0", [environment("continuous", "image")])
    with pytest.raises(ConfigError, match="needs image observations"):
        check_fit(discrete, "Some-v0", [environment("discrete", "vector")])


def test_the_document_is_a_valid_run_config() -> None:
    document = run_document(
        "some", "a name / with ../ things", settings(), cpus=1, memory_mb=2048, gpus=1
    )
    assert parse_run_config(document).run_name == "a-name-with-things"


@pytest.mark.parametrize(
    ("text", "seeds"),
    [("1..3", [1, 2, 3]), ("1,4,9", [1, 4, 9]), ("0, 5..6", [0, 5, 6]), ("7", [7])],
)
def test_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "3..1", "1..", "-1", "1,1", "1..99999999999", "1...5"])
def test_seeds_that_make_no_sense(text: str) -> None:
    with pytest.raises(ConfigError, match="--seeds"):
        parse_seeds(text)


def test_a_label_has_nothing_that_could_be_a_path() -> None:
    assert label("../../etc/ALE/Pong-v5") == "-etc-ALE-Pong-v5"


def test_a_training_has_a_memory_limit_only_where_one_is_given() -> None:
    algorithm = AlgorithmInfo("ppo", "learner", "learns", memory_mb=3000)
    free = parse_run_config(train_document(Training(algorithm, "CartPole-v1")))
    assert (free.resources.memory_mb, free.resources.expected_memory_mb) == (None, 3000)
    held = parse_run_config(train_document(Training(algorithm, "CartPole-v1", memory_mb=900)))
    assert (held.resources.memory_mb, held.resources.expected_memory_mb) == (900, None)
