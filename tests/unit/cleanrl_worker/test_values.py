"""What a config says: values and flags as seed 001's table has them, and variables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.flags import render_flags
from cleanrl_worker.values import build_environment, build_live_view, recorded_extras, values_of
from mosaic.errors import ConfigError
from mosaic.fastlane.settings import Settings, read_settings


def config(seed: int | None = None, **extras: Any) -> CleanRLWorkerConfig:
    return CleanRLWorkerConfig(
        algo="ppo", env_id="CartPole-v1", total_timesteps=2048, seed=seed, extras=extras
    )


BASE = {"env_id": "CartPole-v1", "total_timesteps": 2048}
BASE_FLAGS = ["--env-id=CartPole-v1", "--total-timesteps=2048"]


@pytest.mark.parametrize(
    ("extras", "values", "flags"),
    [
        ({}, {}, []),
        ({"cuda": True}, {"cuda": True}, ["--cuda"]),
        ({"cuda": False}, {"cuda": False}, ["--no-cuda"]),
        ({"use_cuda": True}, {"cuda": True}, ["--cuda"]),
        ({"gpu": False}, {"cuda": False}, ["--no-cuda"]),
        ({"cuda": None}, {}, []),
        ({"capture_video": True}, {"capture_video": True}, ["--capture-video"]),
        ({"track_wandb": True}, {"track": True}, ["--track"]),
        ({"track_wandb": False}, {"track": False}, ["--no-track"]),
        ({"wandb_entity": "team"}, {"wandb_entity": "team"}, ["--wandb-entity=team"]),
        ({"wandb_run_name": "r 1"}, {"wandb_run_name": "r 1"}, ["--wandb-run-name=r 1"]),
        ({"wandb_email": "a@b.c"}, {}, []),
        ({"num_envs": 8}, {"num_envs": 8}, ["--num-envs=8"]),
        ({"learning_rate": 1e-3}, {"learning_rate": 1e-3}, ["--learning-rate=0.001"]),
        ({"learning_rate": "3e-4"}, {"learning_rate": "3e-4"}, ["--learning-rate=3e-4"]),
        ({"env_kwargs": {"g": 9.8}}, {"env_kwargs": {"g": 9.8}}, ['--env-kwargs={"g": 9.8}']),
        (
            {"algo_params": {"gamma": 0.9, "track": False}},
            {"gamma": 0.9, "track": False},
            ["--gamma=0.9", "--no-track"],
        ),
        ({"algo_params": {"num_envs": 4.0}}, {"num_envs": 4.0}, ["--num-envs=4"]),
        ({"algo_params": {"wandb_entity": None}}, {}, []),
        ({"notes": "mine", "agent_id": "a", "mode": "train"}, {}, []),
        ({"fastlane_only": True, "fastlane_video_mode": "grid", "fastlane_grid_limit": 4}, {}, []),
        ({"eval_repeat": True, "eval_batch_size": 10}, {}, []),
    ],
)
def test_extras_become_values_and_these_are_shown_as_flags(
    extras: dict[str, Any], values: dict[str, Any], flags: list[str]
) -> None:
    found = values_of(config(**extras))
    assert found == {**BASE, **values}
    assert render_flags(found) == [*BASE_FLAGS, *flags]


def test_seed_is_a_value_only_when_it_is_given() -> None:
    assert values_of(config(seed=0)) == {**BASE, "seed": 0}
    assert values_of(config()) == BASE


def test_relative_tensorboard_folder_lies_below_the_run(tmp_path: Path) -> None:
    def folder(given: Any, directory: Path | None) -> Any:
        return values_of(config(tensorboard_dir=given), directory)["tensorboard_dir"]

    assert folder("tensorboard", tmp_path) == f"{tmp_path}/tensorboard"
    assert folder("/logs", tmp_path) == "/logs"
    assert folder("tb", None) == "tb"
    assert folder("", tmp_path) == ""
    assert folder(5, tmp_path) == 5, "what is no text is left to the checks"


def test_wandb_settings_become_variables() -> None:
    assert build_environment(config()) == {}
    assert build_environment(config(track_wandb=False)) == {}
    assert build_environment(config(track_wandb=True, wandb_email="a@b.c")) == {
        "TRACK_WANDB": "1",
        "WANDB_EMAIL": "a@b.c",
    }


def test_live_view_settings_are_kept() -> None:
    assert recorded_extras(config(fastlane_slot=2, fastlane_only=None, notes="n")) == {
        "fastlane_slot": 2
    }


def live_view(given: Mapping[str, str] | None = None, **extras: Any) -> Settings:
    variables = {"MOSAIC_FASTLANE_SEGMENT": "/dev/shm/x", **(given or {})}
    return read_settings({**variables, **build_live_view(config(**extras), variables)})


def test_live_view_is_set_by_extras() -> None:
    assert build_live_view(config(), {}) == {}
    single = live_view(fastlane_video_mode="single", fastlane_slot=3, fastlane_enabled=True)
    assert (single.mode, single.slot) == ("single", 3)
    assert live_view(fastlane_grid_limit=9).grid_limit == 9
    assert not live_view(fastlane_video_mode="off").is_on
    assert not live_view(fastlane_enabled=False).is_on


def test_users_variables_win_over_extras_but_not_over_off() -> None:
    given = {"CLEANRL_FASTLANE_VIDEO_MODE": "single", "CLEANRL_FASTLANE_SLOT": "1"}
    found = live_view(given, fastlane_video_mode="grid", fastlane_slot=5)
    assert (found.mode, found.slot) == ("single", 1)
    assert not live_view(given, fastlane_enabled=False).is_on


def test_evaluation_has_live_view_settings_of_its_own(tmp_path: Path) -> None:
    model = tmp_path / "ppo.cleanrl_model"
    model.touch()
    evaluation: dict[str, Any] = {"mode": "policy_eval", "policy_path": str(model)}
    trained: dict[str, Any] = {"fastlane_video_mode": "single", "fastlane_grid_limit": 2}
    own: dict[str, Any] = {"video_mode": "grid", "grid_limit": 8}
    assert live_view(**trained, **evaluation, **own).grid_limit == 8
    assert live_view(**trained, **evaluation, **own).mode == "grid"
    assert live_view(**trained, **evaluation).mode == "single"
    assert live_view(**trained, **own).mode == "single", "they are for evaluation"


def test_two_names_of_cuda_must_agree() -> None:
    assert values_of(config(cuda=True, use_cuda=True))["cuda"] is True
    with pytest.raises(ConfigError, match="contradict"):
        values_of(config(cuda=True, use_cuda=False))
    with pytest.raises(ConfigError, match="contradict"):
        values_of(config(cuda=["0"], gpu=True))
