"""SAC: its update against plain autograd, its files, its actions, and an exact resume."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor

from cleanrl_worker.accelerators.learners import ReplayLearner
from cleanrl_worker.agents.continuous_control import ActionRange, SoftActor
from cleanrl_worker.algorithms import sac
from cleanrl_worker.algorithms.sac import SACArguments, SACLearner
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.session import Session
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    DriftingPoints,
    assert_same_weights,
    random_batch,
    seeded_session,
    train_on,
    whole_and_resumed_weights,
)

SMALL = SACArguments(
    batch_size=16, learning_starts=20, total_timesteps=90, buffer_size=1000, threads=1
)
CPU = torch.device("cpu")


def make_learner(arguments: SACArguments) -> SACLearner:
    return SACLearner(arguments, 3, ActionRange.of(DriftingPoints().action_space), CPU)


def both_learners(arguments: SACArguments) -> list[tuple[SACLearner, ReplayLearner]]:
    """The networks, and who computes their updates: plain torch, then the accelerator."""
    made: list[tuple[SACLearner, ReplayLearner]] = []
    for accelerate in (False, True):
        torch.manual_seed(1)
        networks = make_learner(arguments)
        settings = replace(arguments, accelerate=accelerate)
        made.append((networks, sac.make_learner(networks, settings, seeded_session(settings))))
    assert made[0][0] is made[0][1] and made[1][0] is not made[1][1]
    return made


def train(arguments: SACArguments, session: Session) -> DriftingPoints:
    envs = DriftingPoints()
    train_on(envs, sac.train, arguments, session)
    return envs


def sample(actor: SoftActor, observations: Tensor) -> tuple[Tensor, Tensor]:
    mean, log_std = actor(observations)
    raw = mean + log_std.exp() * torch.randn(mean.shape)
    squashed = torch.tanh(raw)
    density = torch.distributions.Normal(mean, log_std.exp()).log_prob(raw)
    density = density - torch.log(actor.action_scale * (1 - squashed**2) + 1e-6)
    return squashed * actor.action_scale + actor.action_bias, density.sum(1, keepdim=True)


@pytest.mark.parametrize("which", [0, 1], ids=["plain", "accelerated"])
@pytest.mark.parametrize("autotune", [True, False])
def test_three_updates_are_those_of_the_textbook(autotune: bool, which: int) -> None:
    arguments = replace(SMALL, tau=0.1, autotune=autotune, target_network_frequency=2)
    networks, learner = both_learners(arguments)[which]
    actor, critics = copy.deepcopy((networks.actor, networks.critics))
    old_critics = copy.deepcopy(critics)
    actor_adam = torch.optim.Adam(actor.parameters(), lr=3e-4)
    critic_adam = torch.optim.Adam([*critics[0].parameters(), *critics[1].parameters()], lr=1e-3)
    log_alpha = torch.zeros(1, requires_grad=True)
    alpha_adam = torch.optim.Adam([log_alpha], lr=1e-3)
    alpha = 1.0 if autotune else 0.2
    for iteration in range(3):
        batch = random_batch(16, iteration)
        now, then, actions, rewards, ends = map(torch.from_numpy, batch)
        torch.manual_seed(iteration)
        with torch.no_grad():
            following, log_probability = sample(actor, then)
            lowest = torch.min(old_critics[0](then, following), old_critics[1](then, following))
            soft = lowest - alpha * log_probability
            targets = rewards + 0.99 * (1 - ends) * soft.view(-1)
        losses = [F.mse_loss(critic(now, actions).view(-1), targets) for critic in critics]
        critic_adam.zero_grad()
        (losses[0] + losses[1]).backward()
        critic_adam.step()
        for _ in range(2 if iteration % 2 == 0 else 0):
            chosen, log_probability = sample(actor, now)
            lowest = torch.min(critics[0](now, chosen), critics[1](now, chosen))
            actor_loss = (alpha * log_probability - lowest).mean()
            actor_adam.zero_grad()
            actor_loss.backward()
            actor_adam.step()
            if autotune:
                alpha_loss = (-log_alpha.exp() * (log_probability.detach() - 2)).mean()
                alpha_adam.zero_grad()
                alpha_loss.backward()
                alpha_adam.step()
                alpha = log_alpha.exp().item()
        if iteration % 2 == 0:
            for old, new in zip(old_critics, critics, strict=True):
                for target, source in zip(old.parameters(), new.parameters(), strict=True):
                    target.data.mul_(0.9).add_(source.data, alpha=0.1)
        torch.manual_seed(iteration)
        learner.update(batch, iteration)
    assert_same_weights(networks.actor, actor)
    for index in (0, 1):
        assert_same_weights(networks.critics[index], critics[index])
        assert_same_weights(networks.target_critics[index], old_critics[index])
    metrics = learner.metrics()
    assert metrics["losses/alpha"] == pytest.approx(alpha, abs=1e-6)
    assert metrics["losses/actor_loss"] == pytest.approx(actor_loss.item(), abs=1e-4)
    assert ("losses/alpha_loss" in metrics) == autotune
    if autotune:
        assert networks.temperature.log_alpha.item() == pytest.approx(log_alpha.item(), abs=1e-6)
        assert metrics["losses/alpha_loss"] == pytest.approx(alpha_loss.item(), abs=1e-4)


@pytest.mark.parametrize("which", [0, 1], ids=["plain", "accelerated"])
def test_actions_follow_the_actors_distribution(which: int) -> None:
    networks, learner = both_learners(SMALL)[which]
    observations = np.tile([[0.5, -1.0, 2.0]], (4000, 1))
    actions = learner.explore(observations, np.random.default_rng(0))
    torch.manual_seed(0)
    expected = networks.actor.act(torch.tensor(observations), deterministic=False)
    np.testing.assert_allclose(actions.mean(0), expected.numpy().mean(0), atol=0.05)
    np.testing.assert_allclose(actions.std(0), expected.numpy().std(0), atol=0.05)
    assert actions.min() >= -2.0
    assert actions.max() <= 3.0


@pytest.mark.parametrize("which", [0, 1], ids=["plain", "accelerated"])
def test_one_learning_rate_sets_both(which: int) -> None:
    batch = random_batch(16, 0)
    both, apart = (
        replace(SMALL, learning_rate=2e-3),
        replace(SMALL, policy_lr=2e-3, q_lr=2e-3),
    )
    ends = []
    for arguments in (both, apart):
        networks, learner = both_learners(arguments)[which]
        torch.manual_seed(1)
        learner.update(batch, 0)
        ends.append(networks)
    assert_same_weights(ends[0].actor, ends[1].actor, tolerance=0.0)
    assert_same_weights(ends[0].critics[1], ends[1].critics[1], tolerance=0.0)


def test_the_model_file_is_the_actor_as_cleanrls() -> None:
    payload = make_learner(SMALL).model().payload()
    assert {name: list(value.shape) for name, value in payload.items()} == {
        "action_scale": [2],
        "action_bias": [2],
        "fc1.weight": [256, 3],
        "fc1.bias": [256],
        "fc2.weight": [256, 256],
        "fc2.bias": [256],
        "fc_mean.weight": [2, 256],
        "fc_mean.bias": [2],
        "fc_logstd.weight": [2, 256],
        "fc_logstd.bias": [2],
    }


def test_a_resumed_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    arguments = replace(SMALL, checkpoint_interval=15)
    whole, resumed = whole_and_resumed_weights(
        arguments, lambda session: train(arguments, session), tmp_path, resume_at=45
    )
    assert weight_hash(whole) == weight_hash(resumed)


def test_it_learns_to_stay_in_the_middle() -> None:
    arguments = replace(
        SMALL, batch_size=32, learning_starts=200, total_timesteps=800, gamma=0.9, tau=0.02
    )
    arguments = replace(arguments, learning_rate=1e-3, autotune=False, alpha=0.01)
    envs = train(arguments, seeded_session(arguments))
    assert envs.mean_reward(slice(200)) < -0.3
    assert envs.mean_reward(slice(-200, None)) > -0.15
