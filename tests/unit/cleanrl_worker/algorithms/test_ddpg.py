"""DDPG: its update against plain autograd, its files, its loop, and an exact resume."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)

from cleanrl_worker.accelerators.learners import ReplayLearner
from cleanrl_worker.agents.continuous_control import ActionRange
from cleanrl_worker.algorithms import ddpg
from cleanrl_worker.algorithms.ddpg import DDPGArguments, DDPGLearner
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.session import Session, TrainingDivergedError
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    EPISODE_LIMIT,
    DriftingPoints,
    RememberingReporter,
    assert_same_weights,
    random_batch,
    seeded_session,
    train_on,
    whole_and_resumed_weights,
)

SMALL = DDPGArguments(
    batch_size=16, learning_starts=20, total_timesteps=60, buffer_size=1000, threads=1
)
CPU = torch.device("cpu")


def make_learner(arguments: DDPGArguments) -> DDPGLearner:
    torch.manual_seed(arguments.seed)
    envs = DriftingPoints()
    return DDPGLearner(arguments, 3, ActionRange.of(envs.action_space), CPU)


def both_learners(arguments: DDPGArguments) -> list[tuple[DDPGLearner, ReplayLearner]]:
    """The networks, and who computes their updates: plain torch, then the accelerator."""
    made: list[tuple[DDPGLearner, ReplayLearner]] = []
    for accelerate in (False, True):
        torch.manual_seed(1)
        networks = make_learner(arguments)
        settings = replace(arguments, accelerate=accelerate)
        made.append((networks, ddpg.make_learner(networks, settings, seeded_session(settings))))
    assert made[0][0] is made[0][1] and made[1][0] is not made[1][1]
    return made


def train(arguments: DDPGArguments, session: Session, envs: DriftingPoints | None = None) -> None:
    envs = envs or DriftingPoints(arguments.num_envs)
    train_on(envs, ddpg.train, arguments, session)


@pytest.mark.parametrize("which", [0, 1], ids=["plain", "accelerated"])
def test_three_updates_are_those_of_the_textbook(which: int) -> None:
    networks, learner = both_learners(replace(SMALL, learning_rate=1e-3, tau=0.1))[which]
    actor, critic = copy.deepcopy((networks.actor, networks.critic))
    old_actor, old_critic = copy.deepcopy((actor, critic))
    actor_adam = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_adam = torch.optim.Adam(critic.parameters(), lr=1e-3)
    for iteration in range(3):
        batch = random_batch(16, iteration)
        now, then, actions, rewards, ends = map(torch.from_numpy, batch)
        with torch.no_grad():
            following = old_critic(then, old_actor(then)).view(-1)
            targets = rewards + 0.99 * (1 - ends) * following
        loss = F.mse_loss(critic(now, actions).view(-1), targets)
        critic_adam.zero_grad()
        loss.backward()
        critic_adam.step()
        if iteration % 2 == 0:
            actor_loss = -critic(now, actor(now)).mean()
            actor_adam.zero_grad()
            actor_loss.backward()
            actor_adam.step()
            for old, new in ((old_actor, actor), (old_critic, critic)):
                for target, source in zip(old.parameters(), new.parameters(), strict=True):
                    target.data.mul_(0.9).add_(source.data, alpha=0.1)
        learner.update(batch, iteration)
    assert_same_weights(networks.actor, actor)
    assert_same_weights(networks.critic, critic)
    assert_same_weights(networks.target_actor, old_actor)
    assert_same_weights(networks.target_critic, old_critic)
    metrics = learner.metrics()
    assert metrics["losses/qf1_loss"] == pytest.approx(loss.item(), rel=1e-4)
    assert metrics["losses/actor_loss"] == pytest.approx(actor_loss.item(), rel=1e-4)


@pytest.mark.parametrize("which", [0, 1], ids=["plain", "accelerated"])
def test_actions_are_the_actors_with_noise_within_the_bounds(which: int) -> None:
    observations = np.random.default_rng(0).normal(size=(50, 3))
    networks, learner = both_learners(replace(SMALL, exploration_noise=0.0))[which]
    quiet = learner.explore(observations, np.random.default_rng(0))
    with torch.no_grad():
        expected = networks.actor(torch.tensor(observations, dtype=torch.float32)).numpy()
    np.testing.assert_allclose(quiet, expected, atol=1e-6)

    _, noisy = both_learners(replace(SMALL, exploration_noise=0.1))[which]
    noise = noisy.explore(observations, np.random.default_rng(0)) - expected
    assert 0.1 < noise.std() < 0.4  # a tenth of half the range of 5
    _, wild = both_learners(replace(SMALL, exploration_noise=10.0))[which]
    actions = wild.explore(observations, np.random.default_rng(0))
    assert (actions.min(), actions.max()) == (-2.0, 3.0)


def test_the_model_file_is_laid_out_as_cleanrls() -> None:
    actor, critic = make_learner(SMALL).model().payload()
    assert {name: list(value.shape) for name, value in actor.items()} == {
        "action_scale": [1, 2],
        "action_bias": [1, 2],
        "fc1.weight": [256, 3],
        "fc1.bias": [256],
        "fc2.weight": [256, 256],
        "fc2.bias": [256],
        "fc_mu.weight": [2, 256],
        "fc_mu.bias": [2],
    }
    assert list(critic) == [f"fc{i}.{kind}" for i in (1, 2, 3) for kind in ("weight", "bias")]
    assert list(critic["fc1.weight"].shape) == [256, 5]
    torch.testing.assert_close(actor["action_scale"], torch.full((1, 2), 2.5))
    torch.testing.assert_close(actor["action_bias"], torch.full((1, 2), 0.5))


def test_the_end_of_an_episode_is_stored_with_its_true_successor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    added = []
    monkeypatch.setattr(
        "cleanrl_worker.kit.replay_buffers.ReplayBuffer.add",
        lambda self, *transition: added.append([np.array(part) for part in transition]),
    )
    arguments = replace(SMALL, total_timesteps=60, learning_starts=60)
    envs = DriftingPoints()
    train(arguments, seeded_session(arguments), envs)
    truncations = 0
    for (before, actions, step), stored in zip(envs.taken, added, strict=True):
        successor = step.finals.get(0, step.observations[0])
        np.testing.assert_array_equal(stored[0], before)
        np.testing.assert_array_equal(stored[1][0], successor)
        np.testing.assert_array_equal(stored[2], actions)
        assert stored[4][0] == step.terminated[0]
        if step.truncated[0]:
            truncations += 1
            assert not stored[4][0], "a truncated episode is bootstrapped"
            assert not np.array_equal(stored[1][0], step.observations[0])
    assert truncations
    assert any(stored[4][0] for stored in added)


def test_actions_are_random_until_learning_starts_and_updates_come_after() -> None:
    reporter = RememberingReporter()
    arguments = replace(SMALL, learning_starts=100, total_timesteps=301, exploration_noise=0.0)
    envs = DriftingPoints()
    train(arguments, seeded_session(arguments, reporter), envs)
    actions = np.concatenate([actions for _, actions, _ in envs.taken])
    assert (actions.min() >= -2.0).all()
    assert (actions.max() <= 3.0).all()
    assert len(np.unique(actions[:100].round(3))) > 100, "uniform over the whole range"
    assert actions[:100].std() > 1.2 > actions[100:110].std()
    # The 200th and 300th step are the first multiples of 100 at which the training learns.
    assert [step for step, _ in reporter.metrics["losses/qf1_loss"]] == [201, 301]


@pytest.mark.parametrize("num_envs", [1, 3])
def test_a_resumed_training_ends_with_the_same_weights(tmp_path: Path, num_envs: int) -> None:
    arguments = replace(SMALL, num_envs=num_envs, total_timesteps=90, checkpoint_interval=15)
    whole, resumed = whole_and_resumed_weights(
        arguments, lambda session: train(arguments, session), tmp_path, resume_at=45
    )
    assert weight_hash(whole) == weight_hash(resumed)


def test_a_loss_that_is_no_number_stops_the_training() -> None:
    arguments = replace(SMALL, total_timesteps=200, learning_rate=1e30)
    with pytest.raises(TrainingDivergedError, match="losses/"):
        train(arguments, seeded_session(arguments))


def test_actions_without_bounds_are_refused() -> None:
    import gymnasium

    unbounded = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)
    with pytest.raises(ConfigError, match="bounds") as refused:
        ActionRange.of(unbounded)
    assert refused.value.details["field"] == "env_id"
    with pytest.raises(ConfigError, match="vectors of numbers"):
        ActionRange.of(gymnasium.spaces.Discrete(3))


def test_episodes_of_the_stand_in_are_cut() -> None:
    """The tests above rely on it."""
    envs = DriftingPoints()
    envs.reset(0)
    steps = [envs.step(np.zeros((1, 2))) for _ in range(EPISODE_LIMIT)]
    assert [bool(step.truncated[0]) for step in steps] == [False] * (EPISODE_LIMIT - 1) + [True]
