"""What users may ask of an environment, and what they hear when it is wrong."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.environments.single import make_single
from mosaic.errors import ConfigError, DependencyError


class OddlySpaced(gymnasium.Env[Any, Any]):
    """Actions that count from 5; observations as the test wants them."""

    def __init__(self, observation_space: spaces.Space[Any]) -> None:
        self.observation_space = observation_space
        self.action_space = spaces.Discrete(3, start=5)
        self.received: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.received.append(action)
        return self.observation_space.sample(), 0.0, False, False, {}


@pytest.fixture(autouse=True)
def oddly_spaced_environment() -> Any:
    gymnasium.register("OddlySpaced-v0", entry_point=lambda **given: OddlySpaced(**given))
    yield
    del gymnasium.registry["OddlySpaced-v0"]


def make_odd(space: spaces.Space[Any]) -> gymnasium.Env[Any, Any]:
    return make_single("OddlySpaced-v0", env_kwargs={"observation_space": space})


def test_actions_count_from_zero() -> None:
    env = make_odd(spaces.Box(0.0, 1.0, (2,), np.float32))
    env.reset(seed=1)
    assert env.action_space == spaces.Discrete(3)
    env.step(0)
    assert env.get_wrapper_attr("received") == [5]


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1.0, 1.0, (3, 2), np.float64),
        spaces.Box(0, 255, (128,), np.uint8),
        spaces.Discrete(4, start=2),
        spaces.MultiDiscrete([3, 4]),
        spaces.MultiBinary(5),
        spaces.Dict(
            place=spaces.Tuple((spaces.Discrete(3), spaces.Box(-2.0, 2.0, (2,)))),
            flag=spaces.MultiBinary(1),
        ),
    ],
    ids=str,
)
def test_other_observations_become_the_vector_gymnasium_would_flatten(
    space: spaces.Space[Any],
) -> None:
    env = make_odd(space)
    space.seed(7)
    observation, _ = env.reset(seed=1)
    space.seed(7)
    expected = np.asarray(spaces.flatten(space, space.sample()), np.float32)
    np.testing.assert_array_equal(observation, expected)
    assert env.observation_space.contains(observation)


def test_small_images_stay_as_they_are() -> None:
    space = spaces.Box(0, 255, (9, 9, 3), np.uint8)
    assert make_odd(space).observation_space == space


def test_observations_without_a_vector_are_refused() -> None:
    with pytest.raises(ConfigError, match="Text"):
        make_odd(spaces.Dict(mission=spaces.Text(10)))


def test_step_limit_is_the_registered_one_or_the_one_asked_for() -> None:
    assert make_single("CartPole-v1").max_episode_steps == 500  # type: ignore[attr-defined]
    env = make_single("Pendulum-v1", env_kwargs={"max_episode_steps": 3})
    for _ in range(2):
        env.reset(seed=1)
        ends = [env.step(np.zeros(1, np.float32))[3] for _ in range(3)]
        assert ends == [False, False, True]
    unlimited = make_single("CartPole-v1", env_kwargs={"max_episode_steps": -1})
    assert unlimited.max_episode_steps is None  # type: ignore[attr-defined]


def test_step_count_survives_a_snapshot() -> None:
    env: Any = make_single("Pendulum-v1", env_kwargs={"max_episode_steps": 4})
    env.reset(seed=1)
    for _ in range(3):
        env.step(np.zeros(1, np.float32))
    other: Any = make_single("Pendulum-v1", env_kwargs={"max_episode_steps": 4})
    other.reset(seed=2)
    other.restore_state(env.snapshot_state())
    assert other.step(np.zeros(1, np.float32))[3]


@pytest.mark.parametrize("limit", [0, -2, 1.5, True, "many"])
def test_nonsense_limits_are_refused(limit: Any) -> None:
    with pytest.raises(ConfigError) as caught:
        make_single("CartPole-v1", env_kwargs={"max_episode_steps": limit})
    assert caught.value.details["field"] == "env_kwargs.max_episode_steps"


def test_arguments_reach_the_environment_or_are_refused() -> None:
    env = make_single("FrozenLake-v1", env_kwargs={"map_name": "8x8"})
    assert env.observation_space.shape == (64,)
    for wrong in ({"no_such": 1}, {"map_name": "7x7"}):
        with pytest.raises(ConfigError) as caught:
            make_single("FrozenLake-v1", env_kwargs=wrong)
        assert caught.value.details["field"] == "env_kwargs"


def test_rendering_on_request() -> None:
    env = make_single("CartPole-v1", render_mode="rgb_array")
    env.reset(seed=1)
    assert np.asarray(env.render()).shape == (400, 600, 3)
    env.close()


@pytest.mark.parametrize(
    ("env_id", "hint"),
    [
        ("CartPol-v1", "CartPole-v1"),
        ("CartPole", "CartPole-v1"),
        ("Taxi-v3", "use Taxi-v4"),
        ("CliffWalking-v0", "use CliffWalking-v1"),
        ("LunarLander-v2", "use LunarLander-v3"),
        ("CartPole-v7", "use CartPole-v1"),
        ("Hopper-v3", "use Hopper-v5"),
        ("Breakot-v5", "ALE/Breakout-v5"),
        ("minigrid-empty-8x8-v0", "MiniGrid-Empty-8x8-v0"),
        ("dm_control/cheetah-walk-v0", "dm_control/cheetah-run-v0"),
        ("", "mosaic envs"),
        ("qqqqqqqqqqqqqqqqq", "mosaic envs"),
    ],
)
def test_unknown_ids_get_a_hint(env_id: str, hint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make_single(env_id)
    assert hint in caught.value.hint
    assert caught.value.details["field"] == "env_id"


def test_module_before_the_id_is_imported_or_named_as_missing() -> None:
    assert make_single("gymnasium:CartPole-v1").observation_space.shape == (4,)
    with pytest.raises(ConfigError, match=r"no_such_module\.at_all"):
        make_single("no_such_module.at_all:CartPole-v1")


@pytest.mark.parametrize(
    ("env_id", "package", "command"),
    [
        ("ALE/Pong-v5", "ale_py", 'pip install "mosaic-rl[atari]"'),
        ("PongNoFrameskip-v4", "cv2", 'pip install "mosaic-rl[atari]"'),
        ("Hopper-v4", "mujoco", 'pip install "mosaic-rl[mujoco]"'),
        ("LunarLander-v3", "Box2D", 'pip install "mosaic-rl[box2d]"'),
        ("BabyAI-GoToRedBall-v0", "minigrid", 'pip install "mosaic-rl[minigrid]"'),
        ("dm_control/cheetah-run-v0", "dm_control", 'pip install "mosaic-rl[dm-control]"'),
        ("CartPole-v1", "gymnasium", 'pip install "mosaic-rl[cleanrl]"'),
    ],
)
def test_missing_packages_come_with_the_command_that_installs_them(
    env_id: str, package: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DependencyError, match=package) as caught:
        make_single(env_id)
    assert caught.value.hint == command


def test_ids_the_installed_packages_no_longer_support_name_the_newer_one() -> None:
    with pytest.raises(DependencyError) as caught:
        make_single("Pusher-v4")
    assert caught.value.hint == "use Pusher-v5"
