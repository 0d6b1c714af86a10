"""CleanRLWorkerConfig: what is accepted, and which field an error names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.config import CleanRLWorkerConfig, worker_config_schema
from mosaic.errors import ConfigError
from mosaic.worker import build_config, load_config_file

FLAT = {"algo": "ppo", "env_id": "CartPole-v1", "total_timesteps": 1000}


def build(**changes: Any) -> CleanRLWorkerConfig:
    return build_config(CleanRLWorkerConfig, {**FLAT, **changes})


def refused(data: dict[str, Any]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        build_config(CleanRLWorkerConfig, data)
    return caught.value


def test_flat_and_nested_documents_mean_the_same(tmp_path: Path) -> None:
    flat, nested = tmp_path / "flat.json", tmp_path / "nested.json"
    flat.write_text(json.dumps(FLAT))
    nested.write_text(json.dumps({"run_name": "n", "metadata": {"worker": {"config": FLAT}}}))
    configs = [build_config(CleanRLWorkerConfig, load_config_file(path)) for path in (flat, nested)]
    assert configs[0] == configs[1]
    assert (configs[0].algo, configs[0].mode, configs[0].seed) == ("ppo", "train", None)
    assert configs[0].raw == {**FLAT, "extras": {}}


@pytest.mark.parametrize("missing", ["algo", "env_id", "total_timesteps"])
def test_training_needs_to_know_what_on_what_and_how_long(missing: str) -> None:
    error = refused({name: value for name, value in FLAT.items() if name != missing})
    assert error.details["field"] == missing
    assert "is required" in error.message


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"total_timesteps": 0}, "total_timesteps", "minimum"),
        ({"total_timesteps": -5}, "total_timesteps", "minimum"),
        ({"total_timesteps": 10**13}, "total_timesteps", "maximum"),
        ({"total_timesteps": "many"}, "total_timesteps", "integer"),
        ({"seed": -1}, "seed", "minimum"),
        ({"seed": 2**40}, "seed", "maximum"),
        ({"algo": "pppo"}, "algo", "pppo"),
        ({"algo": "rainbow_atari"}, "algo", "not available yet"),
        ({"env": "CartPole-v1"}, "env", "not a known field"),
        ({"extras": {"mode": "dream"}}, "extras.mode", "dream"),
        ({"extras": {"frames": "gif"}}, "extras.frames", "gif"),
        ({"extras": {"eval_batch_size": 0}}, "extras.eval_batch_size", "minimum"),
        ({"extras": {"algo_params": [1]}}, "extras.algo_params", "object"),
        (
            {"extras": {"curriculum_schedule": [{"env_id": "X-v0"}]}},
            "extras.curriculum_schedule",
            "curriculum training is not available yet",
        ),
        ({"extras": {"wandb_api_key": "x" * 40}}, "extras.wandb_api_key", "must not be in it"),
        ({"extras": {"seed": 3}, "seed": 1}, "extras.seed", "seed too"),
        (
            {"extras": {"gamma": 0.9, "algo_params": {"gamma": 0.8}}},
            "extras.algo_params.gamma",
            "extras.gamma too",
        ),
    ],
)
def test_invalid_values_are_refused_by_the_name_of_their_field(
    changes: dict[str, Any], field: str, said: str
) -> None:
    error = refused({**FLAT, **changes})
    assert error.details["field"] == field
    assert said in error.message


@pytest.mark.parametrize(
    ("extras", "field", "guess"),
    [
        ({"learning_rat": 1e-3}, "extras.learning_rat", "learning_rate"),
        ({"track_wanbd": True}, "extras.track_wanbd", "track_wandb"),
        ({"algo_params": {"num_env": 8}}, "extras.algo_params.num_env", "num_envs"),
    ],
)
def test_typing_errors_in_extras_are_never_ignored(
    extras: dict[str, Any], field: str, guess: str
) -> None:
    error = refused({**FLAT, "extras": extras})
    assert error.details["field"] == field
    assert guess in error.hint


def test_parameters_of_another_algorithm_are_unknown() -> None:
    build(algo="dqn", extras={"algo_params": {"buffer_size": 100}})
    error = refused({**FLAT, "extras": {"algo_params": {"buffer_size": 100}}})
    assert "ppo" in error.message


def test_nearest_algorithms_are_suggested() -> None:
    assert "ppo_continuous_action" in refused({**FLAT, "algo": "ppo_continuos_action"}).hint


@pytest.mark.parametrize(
    ("mode", "name"), [("policy_eval", "policy_path"), ("resume_training", "checkpoint_path")]
)
def test_modes_that_start_from_a_checkpoint_need_a_readable_one(
    mode: str, name: str, tmp_path: Path
) -> None:
    error = refused({"extras": {"mode": mode}})
    assert error.details["field"] == f"extras.{name}"
    error = refused({"extras": {"mode": mode, name: str(tmp_path / "gone.cleanrl_model")}})
    assert "does not exist" in error.message
    path = tmp_path / "ppo.cleanrl_model"
    path.touch()
    config = build_config(CleanRLWorkerConfig, {"extras": {"mode": mode, name: str(path)}})
    assert (config.algo, config.env_id, config.total_timesteps) == (None, None, None)


def test_interactive_mode_needs_an_environment_or_a_policy(tmp_path: Path) -> None:
    assert refused({"extras": {"mode": "interactive"}}).details["field"] == "env_id"
    build_config(CleanRLWorkerConfig, {"env_id": "CartPole-v1", "extras": {"mode": "interactive"}})


def test_extra_gives_the_default_of_what_is_not_given() -> None:
    config = build(extras={"eval_repeat": None, "frames": "shm"})
    assert config.extra("eval_repeat") is False
    assert config.extra("eval_batch_size") == 50
    assert config.extra("frames") == "shm"


def test_schema_spells_the_extras_out_for_forms() -> None:
    extras = worker_config_schema()["properties"]["extras"]["properties"]
    assert extras["mode"]["enum"] == ["train", "resume_training", "policy_eval", "interactive"]
    assert extras["policy_path"]["x-editor"] == "checkpoint"
