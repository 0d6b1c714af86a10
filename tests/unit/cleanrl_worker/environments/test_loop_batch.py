"""LoopBatch against gymnasium.make, stepped by hand with the same seeds and actions."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from cleanrl_worker.environments.loop_batch import LoopBatch
from cleanrl_worker.environments.making import make_env_batch
from mosaic.errors import WorkerError
from tests.unit.cleanrl_worker.environments.batch_comparison import random_actions

NUM_ENVS = 2
SEED = 3


@pytest.mark.parametrize(
    ("env_id", "env_kwargs", "steps"),
    [
        ("CartPole-v1", {}, 400),
        ("MountainCar-v0", {}, 450),
        ("Pendulum-v1", {"g": 9.81}, 450),
        ("LunarLander-v3", {}, 400),
        ("Hopper-v5", {}, 300),
        ("HalfCheetah-v5", {"max_episode_steps": 50}, 160),
        ("MiniGrid-Empty-5x5-v0", {"max_episode_steps": 40}, 200),
    ],
)
def test_steps_as_gymnasium_does(env_id: str, env_kwargs: dict[str, Any], steps: int) -> None:
    envs = make_env_batch(env_id, NUM_ENVS, env_kwargs=env_kwargs, vectorization="loop")
    reference = [gymnasium.make(env_id, **env_kwargs) for _ in range(NUM_ENVS)]

    def seen(observation: Any) -> Any:
        picked = observation["image"] if isinstance(observation, dict) else observation
        return np.asarray(picked).astype(envs.observation_space.dtype)

    observations = envs.reset(SEED)
    for index, env in enumerate(reference):
        np.testing.assert_array_equal(observations[index], seen(env.reset(seed=SEED + index)[0]))
    draw = random_actions(envs)
    totals = [0.0] * NUM_ENVS
    lengths = [0] * NUM_ENVS
    ends = 0
    for _ in range(steps):
        actions = draw()
        step = envs.step(actions)
        for index, env in enumerate(reference):
            observation, reward, terminated, truncated, _ = env.step(actions[index])
            totals[index] += float(reward)
            lengths[index] += 1
            assert step.rewards[index] == np.float32(reward)
            assert (step.terminated[index], step.truncated[index]) == (terminated, truncated)
            assert (index in step.finals) == (terminated or truncated)
            if terminated or truncated:
                ends += 1
                np.testing.assert_array_equal(step.finals[index], seen(observation))
                (episode,) = [item for item in step.episodes if item.env_index == index]
                assert episode[1:] == (totals[index], lengths[index], terminated, truncated)
                totals[index], lengths[index] = 0.0, 0
                observation, _ = env.reset()
            np.testing.assert_array_equal(step.observations[index], seen(observation))
        assert envs.observations is step.observations
    assert ends
    envs.close()


class Recorder(gymnasium.Env[Any, Any]):
    """Keeps the actions it gets."""

    observation_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    action_space = gymnasium.spaces.Box(-2.0, 2.0, (2,), np.float32)

    def __init__(self) -> None:
        self.actions: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.actions.append(action)
        return np.zeros(1, np.float32), np.float32(0.1), False, False, {}


def test_continuous_actions_are_clipped_and_of_the_spaces_type() -> None:
    env = Recorder()
    envs = LoopBatch([env])
    envs.reset(0)
    envs.step(np.array([[-3.0, 0.5]]))
    (action,) = env.actions
    np.testing.assert_array_equal(action, np.array([-2.0, 0.5], np.float32))
    assert action.dtype == np.float32


def test_discrete_actions_are_plain_integers() -> None:
    class Choices(Recorder):
        action_space: Any = gymnasium.spaces.Discrete(3)

    env = Choices()
    envs = LoopBatch([env])
    envs.reset(0)
    envs.step(np.array([2]))
    assert type(env.actions[0]) is int


def test_a_lost_life_ends_no_game() -> None:
    """Atari: lives are episodes of the training, games those of the statistics."""
    envs = make_env_batch("BreakoutNoFrameskip-v4", 1)
    envs.reset(1)
    draw = random_actions(envs)
    lives = 0
    score = 0.0
    while True:
        step = envs.step(draw())
        score += float(step.rewards[0])
        lives += len(step.finals)
        assert bool(step.finals) == bool(step.terminated[0] or step.truncated[0])
        if step.episodes:
            break
    assert lives == 5
    (episode,) = step.episodes
    assert episode.total_reward >= score  # clipped rewards are at most the game's
    assert episode.length > 4 * 5
    envs.close()


def test_a_state_of_another_number_of_environments_is_refused() -> None:
    two, three = (make_env_batch("FrozenLake-v1", count) for count in (2, 3))
    two.reset(0)
    with pytest.raises(WorkerError, match="2 environments, this run has 3"):
        three.load_state_dict(two.state_dict())
