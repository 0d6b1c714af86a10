"""The built-in classic control against Gymnasium's, step by step over many episodes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from cleanrl_worker.environments.making import make_env_batch
from mosaic.errors import WorkerError
from tests.unit.cleanrl_worker.environments.batch_comparison import (
    assert_same_step,
    random_actions,
    through_a_file,
)

NUM_ENVS = 3
SEED = 11
Array = NDArray[Any]


def pushing_with_the_motion(observations: Array, speed: int) -> Array:
    return np.where(observations[:, speed] > 0, 2, 0)


# Policies that reach the goal, which random actions never would.
GOAL_SEEKERS: dict[str, Callable[[Array], Array]] = {
    "Acrobot-v1": lambda seen: 2 - pushing_with_the_motion(seen, 4),
    "MountainCar-v0": lambda seen: pushing_with_the_motion(seen, 1),
    "MountainCarContinuous-v0": lambda seen: np.sign(seen[:, 1:]).astype(np.float32) * 1.5,
}
IDS = ["Acrobot-v1", "CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0"]


def make_reference(env_id: str) -> gymnasium.Env[Any, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of the older CartPole
        env = gymnasium.make(env_id)
    is_continuous = isinstance(env.action_space, gymnasium.spaces.Box)
    return gymnasium.wrappers.ClipAction(env) if is_continuous else env


@pytest.mark.parametrize("env_id", [*IDS, "Pendulum-v1"])
def test_steps_as_gymnasium_does(env_id: str) -> None:
    envs = make_env_batch(env_id, NUM_ENVS)
    assert envs.vectorization == "native"
    reference = [make_reference(env_id) for _ in range(NUM_ENVS)]
    observations = envs.reset(SEED)
    for index, env in enumerate(reference):
        np.testing.assert_array_equal(observations[index], env.reset(seed=SEED + index)[0])
    draw = random_actions(envs)
    seek = GOAL_SEEKERS.get(env_id)
    terminated_count = truncated_count = 0
    for count in range(1500 if seek else 800):
        actions = draw()
        if seek is not None and count > 1000:
            actions = seek(envs.observations)
        step = envs.step(actions)
        for index, env in enumerate(reference):
            observation, reward, terminated, truncated, _ = env.step(actions[index])
            assert step.rewards[index] == pytest.approx(float(reward), abs=1e-6)
            assert (step.terminated[index], step.truncated[index]) == (terminated, truncated)
            if terminated or truncated:
                terminated_count += terminated
                truncated_count += truncated
                np.testing.assert_allclose(step.finals[index], observation, atol=1e-6)
                observation, _ = env.reset()
            np.testing.assert_allclose(step.observations[index], observation, atol=1e-6)
    assert terminated_count or env_id == "Pendulum-v1"
    assert truncated_count or env_id.startswith("CartPole")


def test_episodes_tell_return_and_length() -> None:
    envs = make_env_batch("Pendulum-v1", 2)
    envs.reset(0)
    draw = random_actions(envs)
    steps = [envs.step(draw()) for _ in range(200)]
    assert all(not step.episodes for step in steps[:-1])
    for index, episode in enumerate(steps[-1].episodes):
        assert episode.env_index == index
        assert (episode.length, episode.terminated, episode.truncated) == (200, False, True)
        total = sum(float(step.rewards[index]) for step in steps)
        assert episode.total_reward == pytest.approx(total, rel=1e-5)


def test_steps_are_safe_to_keep() -> None:
    envs = make_env_batch("CartPole-v1", 2)
    envs.reset(0)
    draw = random_actions(envs)
    first = envs.step(draw())
    copies = [np.copy(array) for array in first[:4]]
    for _ in range(100):
        envs.step(draw())
    for kept, copy in zip(first[:4], copies, strict=True):
        np.testing.assert_array_equal(kept, copy)


@pytest.mark.parametrize("env_id", [*IDS, "Pendulum-v1"])
def test_goes_on_exactly_from_a_saved_state(env_id: str) -> None:
    envs = make_env_batch(env_id, NUM_ENVS)
    envs.reset(SEED)
    draw = random_actions(envs)
    for _ in range(150):
        envs.step(draw())
    resumed = make_env_batch(env_id, NUM_ENVS)
    resumed.load_state_dict(through_a_file(envs.state_dict()))
    np.testing.assert_array_equal(resumed.observations, envs.observations)
    for _ in range(600):
        actions = draw()
        assert_same_step(resumed.step(actions), envs.step(actions))


def test_a_state_of_another_batch_is_refused() -> None:
    native, loop = (make_env_batch("CartPole-v1", 2, vectorization=way) for way in ("auto", "loop"))
    native.reset(0)
    loop.reset(0)
    with pytest.raises(WorkerError, match="2 native environments"):
        native.load_state_dict(loop.state_dict())
    with pytest.raises(WorkerError, match="environments stepped natively"):
        loop.load_state_dict(native.state_dict())
