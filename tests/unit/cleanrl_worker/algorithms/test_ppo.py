"""PPO trains: budgets kept, ends treated rightly, resume exact, CartPole learnt."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.accelerators.ppo import NumpyPPO
from cleanrl_worker.agents.action_distributions import CategoricalDistribution
from cleanrl_worker.algorithms import ppo
from cleanrl_worker.algorithms.ppo import PPOArguments
from cleanrl_worker.environments.batch import Episode, Step
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.rollout import Rollout, RolloutBatch
from cleanrl_worker.kit.session import TrainingDivergedError
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    DriftingPoints,
    RememberingReporter,
    assert_same_weights,
    seeded_session,
    whole_and_resumed_weights,
)

SMALL = PPOArguments(num_envs=2, num_steps=8, num_minibatches=2, update_epochs=2, threads=1)
SMALL_32 = replace(SMALL, total_timesteps=32)
THREE = spaces.Discrete(3)

Points = Callable[..., None]


@pytest.fixture
def drifting_points(monkeypatch: pytest.MonkeyPatch) -> Points:
    """Makes PPO train on DriftingPoints; called with their arguments."""

    def install(**settings: Any) -> None:
        def make(env_id: str, num_envs: int, **_: Any) -> DriftingPoints:
            return DriftingPoints(num_envs, **settings)

        monkeypatch.setattr("cleanrl_worker.kit.session.make_env_batch", make)

    return install


def test_all_metrics_of_cleanrl_are_recorded(drifting_points: Points) -> None:
    drifting_points(action_space=THREE)
    reporter = RememberingReporter()
    ppo.train(SMALL_32, seeded_session(SMALL_32, reporter))
    assert {
        "charts/learning_rate",
        "charts/SPS",
        "charts/episodic_return",
        "charts/episodic_length",
        "losses/value_loss",
        "losses/policy_loss",
        "losses/entropy",
        "losses/old_approx_kl",
        "losses/approx_kl",
        "losses/clipfrac",
        "losses/explained_variance",
    } <= reporter.metrics.keys()
    rates = [value for _, value in reporter.metrics["charts/learning_rate"]]
    assert rates == pytest.approx([2.5e-4, 1.25e-4])


@pytest.mark.parametrize("total", [1, 5, 16, 17, 40])
def test_the_budget_is_honoured_whatever_the_batch(total: int, drifting_points: Points) -> None:
    drifting_points(action_space=THREE)
    arguments = replace(SMALL, total_timesteps=total)
    session = seeded_session(arguments)
    ppo.train(arguments, session)
    assert total <= session.global_step < total + arguments.num_envs


def test_a_resumed_training_ends_with_the_same_weights(
    drifting_points: Points, tmp_path: Path
) -> None:
    cases = {
        "discrete": (replace(SMALL, total_timesteps=70), THREE),
        "mlp": (replace(SMALL, total_timesteps=70, network="mlp"), THREE),
        "rpo": (
            replace(
                SMALL,
                total_timesteps=70,
                rpo_alpha=0.5,
                normalize_observations=True,
                normalize_rewards=True,
                target_kl=0.5,
            ),
            None,
        ),
    }
    for name, (arguments, actions) in cases.items():
        drifting_points(action_space=actions)
        arguments = replace(arguments, checkpoint_interval=16)
        whole, resumed = whole_and_resumed_weights(
            arguments,
            partial(ppo.train, arguments),
            tmp_path / name,
            resume_at=32,
        )
        assert weight_hash(whole) == weight_hash(resumed), name


def test_observations_in_double_precision_train_in_single(drifting_points: Points) -> None:
    drifting_points(action_space=THREE)
    arguments = replace(SMALL, total_timesteps=16)
    ppo.train(arguments, seeded_session(arguments))
    rollout = Rollout(4, DriftingPoints(2))
    assert rollout.observations.dtype == np.float32


class ConstantPolicy:
    """Values are ten times the first number of an observation."""

    distribution = CategoricalDistribution(3)

    def evaluate(self, observations: Any) -> tuple[Any, Any]:
        return np.zeros((len(observations), 3), np.float32), 10.0 * observations[:, 0]


def step_to(observations: Any, *, ended: dict[int, Any], terminated: tuple[int, ...]) -> Step:
    is_terminated = np.array([index in terminated for index in range(2)])
    is_truncated = np.array([index in ended and index not in terminated for index in range(2)])
    episodes = [Episode(i, 0.0, 1, i in terminated, i not in terminated) for i in ended]
    rewards = np.ones(2, np.float32)
    return Step(observations, rewards, is_terminated, is_truncated, ended, episodes)


def test_a_cut_off_episode_is_bootstrapped_with_its_true_end_and_a_terminated_one_is_not() -> None:
    envs = DriftingPoints(2, action_space=THREE)
    rollout = Rollout(3, envs)
    row = [np.full((2, 3), value, np.float32) for value in (0.1, 0.2, 0.3)]
    actions = np.zeros(2, np.int64)
    rollout.start(row[0])
    rollout.add(actions, step_to(row[1], ended={0: np.full(3, 0.9), 1: row[0][1]}, terminated=(1,)))
    rollout.add(actions, step_to(row[2], ended={}, terminated=()))
    policy: Any = ConstantPolicy()
    batch = ppo.compute_advantages(rollout, policy, gamma=0.5, gae_lambda=0.9)
    # Rows: step 0 of both environments, then step 1. Values are 1, 1, 2, 2.
    np.testing.assert_allclose(batch.advantages[:2], [1 + 0.5 * 9 - 1, 1 - 1], rtol=1e-5)
    np.testing.assert_allclose(batch.advantages[2:], [1 + 0.5 * 3 - 2] * 2, rtol=1e-5)
    np.testing.assert_allclose(batch.values, [1, 1, 2, 2], rtol=1e-5)
    np.testing.assert_allclose(batch.returns, batch.advantages + batch.values, rtol=1e-6)
    np.testing.assert_allclose(batch.log_probabilities, [-math.log(3)] * 4, rtol=1e-5)
    assert len(batch.observations) == 4


def test_a_second_rollout_forgets_the_ends_of_the_first() -> None:
    rollout = Rollout(1, DriftingPoints(2, action_space=THREE))
    zeros = np.zeros((2, 3), np.float32)
    rollout.start(zeros)
    rollout.add(np.zeros(2), step_to(zeros, ended={0: zeros[0], 1: zeros[1]}, terminated=(0,)))
    rollout.start(zeros)
    rollout.add(np.zeros(2), step_to(zeros, ended={}, terminated=()))
    assert not rollout.ended.any()
    assert not rollout.terminated.any()
    assert not rollout.cut_off


class CountingLearner:
    """Claims to have moved far after so many epochs."""

    def __init__(self, far_after: int) -> None:
        self.far_after = far_after
        self.orders: list[Any] = []
        self.slices: list[tuple[int, int]] = []

    def load(self, batch: Any) -> None: ...

    def start_epoch(self, order: Any, shift: Any) -> None:
        self.orders.append(order)

    def update(self, start: int, end: int) -> None:
        self.slices.append((start, end))

    def approximate_kl(self) -> float:
        return 1.0 if len(self.orders) >= self.far_after else 0.0

    def metrics(self) -> dict[str, float]:
        return {}


def test_an_update_ends_early_when_the_policy_moved_too_far() -> None:
    fields = [np.zeros(16, np.float32)] * 6
    learner: Any = CountingLearner(far_after=2)
    arguments = replace(SMALL, update_epochs=4, target_kl=0.5)
    ppo.learn(arguments, np.random.default_rng(1), learner, RolloutBatch(*fields))
    assert len(learner.orders) == 2
    assert learner.slices == [(0, 8), (8, 16)] * 2
    assert [sorted(order) for order in learner.orders] == [list(range(16))] * 2


def test_rpo_is_refused_where_actions_are_discrete(drifting_points: Points) -> None:
    drifting_points(action_space=THREE)
    arguments = replace(SMALL, rpo_alpha=0.5)
    with pytest.raises(ConfigError) as refused:
        ppo.train(arguments, seeded_session(arguments))
    assert refused.value.details["field"] == "rpo_alpha"


@pytest.mark.parametrize("network", ["towers", "mlp"])
def test_a_training_that_diverges_fails_by_name(network: Any, drifting_points: Points) -> None:
    drifting_points(action_space=THREE)
    arguments = replace(SMALL, learning_rate=1e30, total_timesteps=160, network=network)
    with pytest.raises(TrainingDivergedError):
        ppo.train(arguments, seeded_session(arguments))


def test_the_environments_are_closed_when_training_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = DriftingPoints(2, action_space=spaces.MultiBinary(2))
    monkeypatch.setattr("cleanrl_worker.kit.session.make_env_batch", lambda *_, **__: envs)
    with pytest.raises(ConfigError):
        ppo.train(SMALL, seeded_session(SMALL))
    assert envs.is_closed


def test_cartpole_is_learnt() -> None:
    arguments = PPOArguments(env_id="CartPole-v1", total_timesteps=25_000)
    session = seeded_session(arguments)
    ppo.train(arguments, session)
    assert np.mean(session.recent_returns) > 100.0


@pytest.mark.parametrize("actions", [THREE, None], ids=["discrete", "continuous"])
def test_plain_and_accelerated_trainings_end_alike(
    actions: Any, drifting_points: Points, monkeypatch: pytest.MonkeyPatch
) -> None:
    drifting_points(action_space=actions)
    learners: list[Any] = []
    agents: list[Any] = []

    def remember(agent: Any, *rest: Any) -> Any:
        agents.append(agent)
        learners.append(make_learner(agent, *rest))
        return learners[-1]

    make_learner = ppo.make_learner
    monkeypatch.setattr(ppo, "make_learner", remember)
    for accelerate in (True, False):
        arguments = replace(SMALL, total_timesteps=48, accelerate=accelerate)
        ppo.train(arguments, seeded_session(arguments))
    assert [type(learner) for learner in learners] == [NumpyPPO, ppo.PPOLearner]
    assert_same_weights(agents[0], agents[1], tolerance=1e-4)
