"""An id alone tells its family, and the family what has to be installed."""

from __future__ import annotations

import pytest

from cleanrl_worker.environments.families import FAMILIES, base_name, family_of, version_of


@pytest.mark.parametrize(
    ("env_id", "family"),
    [
        ("FrozenLake8x8-v1", "toy_text"),
        ("Taxi-v3", "toy_text"),
        ("CartPole-v1", "classic_control"),
        ("MountainCarContinuous-v0", "classic_control"),
        ("LunarLanderContinuous-v3", "box2d"),
        ("HalfCheetah-v4", "mujoco"),
        ("HumanoidStandup-v5", "mujoco"),
        ("ALE/Breakout-v5", "atari"),
        ("BreakoutNoFrameskip-v4", "atari"),
        ("Pong-v4", "atari"),
        ("MiniGrid-Empty-8x8-v0", "minigrid"),
        ("BabyAI-GoToRedBall-v0", "babyai"),
        ("dm_control/cheetah-run-v0", "dm_control"),
        ("my.package:Thing-v0", "gymnasium"),
        ("minigrid:MiniGrid-Empty-8x8-v0", "minigrid"),
        ("phys2d/CartPole-v1", "gymnasium"),
        ("", "gymnasium"),
    ],
)
def test_family_by_the_form_of_the_id(env_id: str, family: str) -> None:
    assert family_of(env_id).name == family


def test_each_family_names_the_command_that_installs_it() -> None:
    assert FAMILIES["atari"].install_command == 'pip install "mosaic-rl[atari]"'
    assert FAMILIES["dm_control"].install_command == 'pip install "mosaic-rl[dm-control]"'


def test_name_and_version_of_an_id() -> None:
    assert base_name("some.module:CartPole-v1") == "CartPole"
    assert base_name("ALE/Pong-v5") == "ALE/Pong"
    assert base_name("CartPole") == "CartPole"
    assert version_of("MultiRoom-N4-S5-v12") == 12
    assert version_of("CartPole") is None
