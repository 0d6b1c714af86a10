"""Published parameters: each can be used as it stands, and says where it comes from."""

from __future__ import annotations

import pytest

from cleanrl_worker.catalogue import algorithm_catalogue
from cleanrl_worker.environments.families import family_of
from mosaic.contracts.catalogue import AlgorithmInfo, Recipe
from mosaic.contracts.schema_check import violations
from mosaic.errors import ConfigError
from mosaic.front.catalogue import environments
from mosaic.front.training_config import Training, check_fit, train_document, usual_timesteps

RECIPES = [(item, recipe) for item in algorithm_catalogue() for recipe in item.recipes]
PPO = next(item for item in algorithm_catalogue() if item.name == "ppo")


@pytest.mark.parametrize(("algorithm", "recipe"), RECIPES)
def test_a_recipe_fits_its_algorithm(algorithm: AlgorithmInfo, recipe: Recipe) -> None:
    assert algorithm.is_available and recipe.source and recipe.url.startswith("https://")
    assert recipe.expected_return is not None and recipe.total_timesteps > 0
    assert family_of(recipe.env_id).name != "gymnasium", "known"
    check_fit(algorithm, recipe.env_id, environments())
    for name, value in recipe.parameters.items():
        assert name in algorithm.parameters, name
        assert not list(violations(value, dict(algorithm.parameters[name]))), name
    defaults = {name: schema["default"] for name, schema in algorithm.parameters.items()}
    values = {**defaults, **recipe.parameters}
    if "num_minibatches" in recipe.parameters:
        assert values["num_envs"] * values["num_steps"] % values["num_minibatches"] == 0


def test_names_are_unique() -> None:
    names = [(item.name, recipe.env_id, recipe.name) for item, recipe in RECIPES]
    assert len(set(names)) == len(names)


def test_a_training_takes_what_the_recipe_says_and_what_a_person_says_upon_it() -> None:
    training = Training(PPO, "CartPole-v1", recipe="tuned", parameters={"gamma": 0.9})
    document = train_document(training)
    settings = document["metadata"]["worker"]["config"]
    assert settings["total_timesteps"] == 100_000
    parameters = settings["extras"]["algo_params"]
    assert parameters["gamma"] == 0.9 and parameters["gae_lambda"] == 0.8
    assert document["metadata"]["recipe"] == "tuned"
    longer = Training(PPO, "CartPole-v1", recipe="tuned", total_timesteps=5)
    assert longer.total_timesteps == 5


def test_a_recipe_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(ConfigError, match="no recipe 'fast' for CartPole-v1") as caught:
        Training(PPO, "CartPole-v1", recipe="fast")
    assert "tuned" in caught.value.hint
    with pytest.raises(ConfigError) as caught:
        Training(PPO, "Taxi-v4", recipe="tuned")
    assert "CartPole-v1" in caught.value.hint


def test_how_long_a_training_is_follows_the_environment() -> None:
    known, found = environments(), {item.name: item for item in algorithm_catalogue()}
    assert usual_timesteps(PPO, "CartPole-v1", known) == 500_000
    assert usual_timesteps(PPO, "ALE/Pong-v5", known) == 10_000_000
    assert usual_timesteps(PPO, "LunarLander-v3", known) == 1_000_000
    assert usual_timesteps(PPO, "my.module:Mine-v0", known) == 500_000
    assert usual_timesteps(found["rpo_continuous_action"], "Hopper-v4", known) == 8_000_000
    assert usual_timesteps(found["sac_continuous_action"], "Humanoid-v5", known) == 2_000_000
    assert usual_timesteps(found["dqn_atari"], "ALE/Breakout-v5", known) == 10_000_000
