"""Episodes of the baseline worker, simulated again from what its step telemetry says."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from baseline_worker.policies import make_policy
from baseline_worker.replay import action_from_json, make_environment
from mosaic.contracts.events import finite_json
from mosaic.contracts.replay import EpisodeStart
from mosaic.errors import ConfigError, WorkerError
from mosaic.worker import to_json


@pytest.mark.parametrize(
    "env_id", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "MountainCarContinuous-v0"]
)
def test_an_episode_comes_out_the_same(env_id: str) -> None:
    env = gymnasium.make(env_id)
    policy = make_policy("random", env, env_id)
    env.reset(seed=3)  # an episode before it
    env.step(env.action_space.sample())
    env.reset(seed=5)
    policy.begin_episode(5)
    actions, rewards, is_over = [], [], False
    while not is_over:
        action = policy.act(None)
        _, reward, terminated, truncated, _ = env.step(action)
        actions.append(json.loads(json.dumps(finite_json(to_json(action)))))
        rewards.append(float(reward))
        is_over = terminated or truncated
    env.close()
    replay = make_environment({"env_id": env_id, "episodes": 9})
    replay.begin(EpisodeStart({"seed": 5}, b"", []))
    moments = [replay.step(action) for action in actions]
    assert [moment.reward for moment in moments] == rewards
    assert (moments[-1].terminated, moments[-1].truncated) == (terminated, truncated)
    picture = replay.picture()
    assert picture.dtype == np.uint8 and picture.shape[2] == 3
    replay.close()


NESTED = spaces.Dict(
    {"move": spaces.Box(-1, 1, (2,), np.float32), "pair": spaces.Tuple([spaces.Discrete(3)] * 2)}
)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Discrete(4, start=-1),
        spaces.Box(-np.inf, np.inf, (2, 2), np.float64),
        spaces.Box(0, 255, (3,), np.uint8),
        spaces.MultiDiscrete([3, 4]),
        spaces.MultiBinary(5),
        spaces.Text(6),
        NESTED,
    ],
    ids=lambda space: type(space).__name__,
)
def test_actions_survive_json(space: spaces.Space[Any]) -> None:
    space.seed(1)
    for _ in range(5):
        action = space.sample()
        told = json.loads(json.dumps(finite_json(to_json(action))))
        back = action_from_json(space, told)
        assert space.contains(back)
        assert json.loads(json.dumps(finite_json(to_json(back)))) == told


def test_numbers_that_json_lacks_survive() -> None:
    space = spaces.Box(-np.inf, np.inf, (3,), np.float32)
    action = np.array([np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(action_from_json(space, finite_json(to_json(action))), action)


@pytest.mark.parametrize(
    ("space", "value"),
    [
        (spaces.Discrete(2), "left"),
        (spaces.Discrete(2), None),
        (spaces.Box(-1, 1, (2,)), [1.0]),
        (spaces.Box(-1, 1, (2,)), {"a": 1}),
        (spaces.MultiDiscrete([2, 2]), ["a", "b"]),
        (NESTED, {"move": [0, 0]}),
        (spaces.Tuple([spaces.Discrete(2)]), [1, 1]),
        (spaces.Graph(spaces.Discrete(2), None), 1),
    ],
    ids=str,
)
def test_what_is_no_action_is_refused(space: spaces.Space[Any], value: Any) -> None:
    with pytest.raises(WorkerError):
        action_from_json(space, value)


@pytest.mark.parametrize("details", [{}, {"seed": None}, {"seed": "1"}, {"seed": True}])
def test_an_episode_without_seed_is_refused(details: dict[str, Any]) -> None:
    replay = make_environment({"env_id": "CartPole-v1", "episodes": 1})
    with pytest.raises(WorkerError, match="seed"):
        replay.begin(EpisodeStart(details, b"", []))
    replay.close()


def test_settings_that_are_no_config_are_refused() -> None:
    with pytest.raises(ConfigError):
        make_environment({"env": "CartPole-v1"})
