"""PQN: its returns, its rollouts, its resume, and that it learns CartPole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cleanrl_worker.agents.q_networks import PQNNetwork
from cleanrl_worker.algorithms import pqn
from cleanrl_worker.algorithms.pqn import PQNArguments
from cleanrl_worker.environments.batch import Step
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.rollout import Rollout
from cleanrl_worker.kit.session import TrainingDivergedError
from tests.unit.cleanrl_worker.algorithms.q_stand_ins import (
    THREE_ACTIONS,
    BlinkingFrames,
    use_points,
)
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    DriftingPoints,
    RememberingReporter,
    seeded_session,
    whole_and_resumed_weights,
)

SMALL = PQNArguments(
    total_timesteps=96, num_envs=2, num_steps=8, num_minibatches=2, update_epochs=2
)


def slow_returns(
    rewards: Any, terminated: Any, ended: Any, following: Any, gamma: float, q_lambda: float
) -> Any:
    """Step by step, backwards, as the article says it."""
    returns = np.zeros_like(rewards)
    for env in range(rewards.shape[1]):
        for step in reversed(range(len(rewards))):
            future = following[step, env]
            if terminated[step, env]:
                future = 0.0
            elif not ended[step, env] and step + 1 < len(rewards):
                future = q_lambda * returns[step + 1, env] + (1.0 - q_lambda) * future
            returns[step, env] = rewards[step, env] + gamma * future
    return returns


def test_returns_are_those_of_a_readable_loop() -> None:
    rng = np.random.default_rng(2)
    rewards, following = rng.normal(size=(2, 20, 3)).astype(np.float32)
    terminated = rng.random((20, 3)) < 0.2
    ended = terminated | (rng.random((20, 3)) < 0.2)
    case = rewards, terminated, ended, following, 0.9, 0.65
    np.testing.assert_allclose(pqn.lambda_returns(*case), slow_returns(*case), rtol=1e-4, atol=1e-5)


class FirstNumber:
    """Values an observation by its first number."""

    def best_values(self, observations: Any) -> Any:
        return observations[:, 0].copy()


def test_an_episode_that_was_cut_off_is_worth_what_its_true_end_is() -> None:
    rollout = Rollout(2, DriftingPoints(2, action_space=THREE_ACTIONS))
    first, second, third = (np.full((2, 3), value) for value in (1.0, 2.0, 3.0))
    no, yes = np.zeros(2, np.bool_), np.ones(2, np.bool_)
    rewards = np.zeros(2, np.float32)
    rollout.start(first)
    rollout.add(np.zeros(2), Step(second, rewards, no, yes, {0: np.full(3, 9.0), 1: second[1]}, []))
    rollout.add(np.zeros(2), Step(third, rewards, no, no, {}, []))
    learner: Any = FirstNumber()
    assert pqn.successor_values(learner, rollout).tolist() == [[9.0, 2.0], [3.0, 3.0]]


def test_every_row_is_learnt_once_per_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    learnt: list[Any] = []

    class Collector(FirstNumber):
        def update(self, observations: Any, actions: Any, returns: Any) -> None:
            learnt.append(np.concatenate([observations[:, 0], actions]))

    envs = DriftingPoints(2, action_space=THREE_ACTIONS)
    session = seeded_session(SMALL)
    rollout = Rollout(SMALL.num_steps, envs)
    rollout.start(envs.reset(1))
    for _ in range(SMALL.num_steps):
        rollout.add(np.array([1, 2]), envs.step(np.array([1, 2])))
    learner: Any = Collector()
    pqn.learn(SMALL, session, learner, rollout)
    assert len(learnt) == SMALL.num_minibatches * SMALL.update_epochs
    for epoch in (learnt[:2], learnt[2:]):
        observations = np.concatenate([rows[:8] for rows in epoch])
        assert sorted(observations) == sorted(rollout.observations[:8, :, 0].ravel())


def test_metrics_and_the_falling_learning_rate_are_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    use_points(monkeypatch)
    reporter = RememberingReporter()
    pqn.train(SMALL, seeded_session(SMALL, reporter))
    assert {"losses/td_loss", "losses/q_values", "charts/epsilon"} <= reporter.metrics.keys()
    rates = [value for _, value in reporter.metrics["charts/learning_rate"]]
    assert rates == pytest.approx([2.5e-4 * part / 6 for part in (6, 5, 4, 3, 2, 1)])


@pytest.mark.parametrize("total", [1, 15, 17, 40])
def test_the_budget_is_honoured_whatever_the_rollout(
    total: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_points(monkeypatch)
    arguments = replace(SMALL, total_timesteps=total)
    session = seeded_session(arguments)
    pqn.train(arguments, session)
    assert total <= session.global_step < total + arguments.num_envs


def test_exploration_follows_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    use_points(monkeypatch)
    reporter = RememberingReporter()
    session = seeded_session(SMALL, reporter)
    session.planned_timesteps = 32
    pqn.train(SMALL, session)
    epsilons = [value for _, value in reporter.metrics["charts/epsilon"]]
    assert epsilons[0] > 0.05
    assert epsilons[1:] == [0.05] * 5
    assert any("32 steps" in note for note in reporter.notes)


def test_a_resumed_training_ends_with_the_same_weights(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    use_points(monkeypatch)
    arguments = replace(SMALL, checkpoint_interval=16)
    whole, resumed = whole_and_resumed_weights(
        arguments, lambda session: pqn.train(arguments, session), tmp_path, resume_at=48
    )
    assert weight_hash(whole) == weight_hash(resumed)


def test_frames_train_by_autograd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "cleanrl_worker.kit.session.make_env_batch",
        lambda _, num_envs, **__: BlinkingFrames(num_envs),
    )
    arguments = replace(SMALL, total_timesteps=16, num_steps=4)
    session = seeded_session(arguments)
    pqn.train(arguments, session)
    assert session.global_step == 16


def test_the_file_names_its_weights_as_cleanrl_does() -> None:
    shapes = {name: tuple(value.shape) for name, value in PQNNetwork((4,), 2).state_dict().items()}
    assert list(shapes) == [
        f"network.{index}.{kind}" for index in (0, 1, 3, 4, 6) for kind in ("weight", "bias")
    ]
    assert shapes["network.1.weight"] == (120,)
    assert shapes["network.6.weight"] == (2, 84)


def test_layers_start_orthogonal_and_without_bias() -> None:
    first = PQNNetwork((4,), 2).network[0]
    weight = first.get_parameter("weight").detach().numpy()
    np.testing.assert_allclose(weight.T @ weight, 2.0 * np.eye(4), atol=1e-5)
    assert not first.get_parameter("bias").any()


def test_a_training_that_diverges_fails_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    use_points(monkeypatch)
    arguments = replace(SMALL, learning_rate=1e30)
    with pytest.raises(TrainingDivergedError):
        pqn.train(arguments, seeded_session(arguments))


def test_cartpole_is_learnt() -> None:
    arguments = PQNArguments(env_id="CartPole-v1", total_timesteps=25_000)
    session = seeded_session(arguments)
    pqn.train(arguments, session)
    assert np.mean(session.recent_returns) > 60.0
