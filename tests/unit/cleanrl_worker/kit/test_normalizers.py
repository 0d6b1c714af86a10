"""NormalizingBatch against gymnasium's wrappers, and its frozen twin for evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from cleanrl_worker.environments.batch import EnvBatch, Episode, Step
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.kit.normalizers import NormalizingBatch, frozen_normalizer
from mosaic.errors import WorkerError
from tests.unit.cleanrl_worker.environments.batch_comparison import (
    assert_same_step,
    random_actions,
    through_a_file,
)

GAMMA = 0.97
Array = NDArray[Any]


class Script:
    """Observations and rewards of many scales; an episode has 50 steps."""

    LENGTH = 50

    def __init__(self, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        scales = np.array([0.01, 1.0, 300.0])
        self.observations = (random.normal(size=(2000, 3)) * scales + scales).astype(np.float32)
        self.rewards = (random.normal(size=2000) * 7).astype(np.float32)


class ScriptedEnv(gymnasium.Env[Any, Any]):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self) -> None:
        self.script = Script()
        self.row = -1
        self.age = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.row += 1
        self.age = 0
        return self.script.observations[self.row].astype(np.float64), {}

    def step(self, action: Any) -> Any:
        self.row += 1
        self.age += 1
        seen = self.script.observations[self.row].astype(np.float64)
        return seen, float(self.script.rewards[self.row]), False, self.age == Script.LENGTH, {}


class ScriptedBatch(EnvBatch):
    def __init__(self, num_envs: int = 1) -> None:
        self.num_envs = num_envs
        self.vectorization = "scripted"
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (3,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.envs = [ScriptedEnv() for _ in range(num_envs)]
        for index, env in enumerate(self.envs):
            env.script = Script(index)

    def reset(self, seed: int) -> Array:
        self.observations = np.stack([env.reset()[0] for env in self.envs]).astype(np.float32)
        return self.observations

    def step(self, actions: Array) -> Step:
        finals: dict[int, Array] = {}
        episodes = []
        seen, rewards, truncated = [], [], []
        for index, env in enumerate(self.envs):
            observation, reward, _, is_over, _ = env.step(0)
            if is_over:
                finals[index] = observation.astype(np.float32)
                episodes.append(Episode(index, 1.0, Script.LENGTH, False, True))
                observation, _ = env.reset()
            seen.append(observation)
            rewards.append(reward)
            truncated.append(is_over)
        self.observations = np.stack(seen).astype(np.float32)
        flags = np.array(truncated)
        return Step(
            self.observations,
            np.array(rewards, np.float32),
            np.zeros_like(flags),
            flags,
            finals,
            episodes,
        )

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...

    def close(self) -> None: ...


def test_observations_as_gymnasium_normalises_them() -> None:
    reference = gymnasium.wrappers.NormalizeObservation(ScriptedEnv())
    envs = NormalizingBatch(ScriptedBatch(), observations=True, rewards=False, gamma=GAMMA)
    np.testing.assert_allclose(envs.reset(0)[0], reference.reset()[0], atol=1e-6)
    for count in range(1, 900):
        is_last = count % Script.LENGTH == 0
        reference.update_running_mean = not is_last  # ours does not count the last one
        expected, _, _, truncated, _ = reference.step(0)
        reference.update_running_mean = True
        step = envs.step(np.zeros(1, np.int64))
        if truncated:
            # Ours has already counted the first observation of the next episode.
            np.testing.assert_allclose(
                step.finals[0], np.clip(expected, -10, 10), rtol=0.05, atol=0.05
            )
            expected, _ = reference.reset()
        np.testing.assert_allclose(
            step.observations[0], np.clip(expected, -10, 10), rtol=1e-6, atol=1e-6
        )
    assert step.observations.dtype == np.float32


def test_rewards_as_gymnasium_normalises_them() -> None:
    reference = gymnasium.wrappers.NormalizeReward(ScriptedEnv(), gamma=GAMMA)
    envs = NormalizingBatch(ScriptedBatch(), observations=False, rewards=True, gamma=GAMMA)
    envs.reset(0)
    reference.reset()
    for _ in range(900):
        _, expected, _, truncated, _ = reference.step(0)
        step = envs.step(np.zeros(1, np.int64))
        assert step.rewards[0] == pytest.approx(np.clip(float(expected), -10, 10), rel=1e-6)
        if truncated:
            # Gymnasium carries the return over into the next episode; ours begins with 0.
            reference.discounted_reward = np.array([0.0])
            reference.reset()
    assert step.rewards.dtype == np.float32


def test_several_environments_share_their_statistics() -> None:
    envs = NormalizingBatch(ScriptedBatch(3), observations=True, rewards=True, gamma=0.0)
    raw = ScriptedBatch(3)
    seen, rewards = [raw.reset(0)], []
    envs.reset(0)
    for _ in range(400):
        step = raw.step(np.zeros(3))
        envs.step(np.zeros(3))
        seen.append(step.observations)
        rewards.append(step.rewards)
    statistics = envs.statistics()
    rows = np.concatenate(seen).astype(np.float64)
    np.testing.assert_allclose(statistics["observations"]["mean"], rows.mean(0), rtol=1e-4)
    np.testing.assert_allclose(statistics["observations"]["var"], rows.var(0), rtol=1e-4, atol=1e-6)
    assert statistics["rewards"]["var"] == pytest.approx(np.var(np.concatenate(rewards)), rel=1e-4)


def test_what_is_seen_is_clipped_and_episodes_stay_raw() -> None:
    batch = ScriptedBatch()
    batch.envs[0].script.observations[40] = 1e9
    batch.envs[0].script.rewards[40] = -1e9
    envs = NormalizingBatch(batch, observations=True, rewards=True, gamma=GAMMA)
    envs.reset(0)
    steps = [envs.step(np.zeros(1)) for _ in range(Script.LENGTH)]
    assert max(float(np.abs(step.observations).max()) for step in steps) <= 10
    assert min(float(step.rewards[0]) for step in steps) >= -10
    assert steps[-1].episodes[0].total_reward == 1.0
    assert np.abs(steps[-1].finals[0]).max() <= 10


def test_goes_on_exactly_from_a_saved_state() -> None:
    def make() -> NormalizingBatch:
        raw = make_env_batch("Hopper-v5", 2)
        return NormalizingBatch(raw, observations=True, rewards=True, gamma=GAMMA)

    envs, resumed = make(), make()
    envs.reset(0)
    draw = random_actions(envs)
    for _ in range(70):
        envs.step(draw())
    resumed.reset(5)
    resumed.load_state_dict(through_a_file(envs.state_dict()))
    np.testing.assert_array_equal(resumed.observations, envs.observations)
    for _ in range(100):
        actions = draw()
        assert_same_step(resumed.step(actions), envs.step(actions))
    envs.close()
    resumed.close()


def test_a_frozen_normalizer_sees_as_the_training_did() -> None:
    batch = ScriptedBatch(2)
    envs = NormalizingBatch(batch, observations=True, rewards=True, gamma=GAMMA)
    envs.reset(0)
    for _ in range(60):
        envs.step(np.zeros(2))
    normalize = frozen_normalizer(through_a_file(envs.state_dict()))
    for _ in range(2):  # it does not change with use
        np.testing.assert_array_equal(normalize(batch.observations), envs.observations)
    np.testing.assert_array_equal(normalize(batch.observations[0]), envs.observations[0])


def test_a_frozen_normalizer_needs_its_statistics() -> None:
    envs = NormalizingBatch(ScriptedBatch(), observations=False, rewards=True, gamma=GAMMA)
    with pytest.raises(WorkerError, match="no statistics"):
        frozen_normalizer(envs.state_dict())
    with pytest.raises(WorkerError, match="no statistics"):
        frozen_normalizer({"environments": []})
