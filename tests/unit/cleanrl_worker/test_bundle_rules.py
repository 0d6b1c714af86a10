from __future__ import annotations

from typing import Any

import pytest

from cleanrl_worker import get_worker_metadata
from mosaic.bundles.definitions import load_bundles
from mosaic.contracts.bundles import VenvNeed, needed_venvs

OLD = "extras.env_python"


def needs(**config: Any) -> list[str]:
    found = needed_venvs(get_worker_metadata().bundle_rules, config)
    return [need.name for need in found]


@pytest.mark.parametrize(
    ("env_id", "add_on"),
    [
        ("CartPole-v1", ""),
        ("FrozenLake-v1", ""),
        ("my_package:Grid-v0", ""),
        ("LunarLander-v3", "box2d"),
        ("HalfCheetah-v5", "mujoco"),
        ("Pong-v4", "atari"),
        ("PongNoFrameskip-v4", "atari"),
        ("ALE/Breakout-v5", "atari"),
        ("ale_py:ALE/Breakout-v5", "atari"),
        ("MiniGrid-Empty-5x5-v0", "minigrid"),
        ("BabyAI-GoToObj-v0", "minigrid"),
        ("dm_control/cheetah-run-v0", "dm_control"),
    ],
)
def test_each_family_of_environments_has_its_add_on(env_id: str, add_on: str) -> None:
    name = f"cleanrl_worker+{add_on}" if add_on else "cleanrl_worker"
    assert needs(env_id=env_id) == [name]
    load_bundles().check_name(name)  # and there is such a bundle


def test_tracking_and_videos_need_theirs() -> None:
    assert needs(extras={"track_wandb": True}) == ["cleanrl_worker+wandb"]
    assert needs(extras={"eval_capture_video": True}) == ["cleanrl_worker+video"]
    assert needs(extras={"algo_params": {"capture_video": True}}) == ["cleanrl_worker+video"]
    assert needs(extras={"track_wandb": False, "capture_video": False}) == ["cleanrl_worker"]


def test_an_upstream_script_has_an_old_environment_unless_somebody_names_one() -> None:
    rules = get_worker_metadata().bundle_rules
    config: dict[str, Any] = {"env_id": "HalfCheetah-v4", "extras": {"source": "upstream"}}
    assert needed_venvs(rules, config) == (
        VenvNeed("cleanrl_worker"),
        VenvNeed("upstream_cleanrl+upstream_mujoco", OLD, is_optional=True),
    )
    config["extras"]["env_python"] = "/venvs/mine/bin/python"
    assert needed_venvs(rules, config) == (VenvNeed("cleanrl_worker"),)
