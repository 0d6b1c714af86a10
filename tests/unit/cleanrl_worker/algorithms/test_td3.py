"""TD3: its update against plain autograd, its files, and an exact resume."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)

from cleanrl_worker.accelerators.learners import ReplayLearner
from cleanrl_worker.agents.continuous_control import ActionRange
from cleanrl_worker.algorithms import td3
from cleanrl_worker.algorithms.td3 import TD3Arguments, TD3Learner
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

SMALL = TD3Arguments(
    batch_size=16, learning_starts=20, total_timesteps=90, buffer_size=1000, threads=1
)
CPU = torch.device("cpu")


def make_learner(arguments: TD3Arguments) -> TD3Learner:
    return TD3Learner(arguments, 3, ActionRange.of(DriftingPoints().action_space), CPU)


def both_learners(arguments: TD3Arguments) -> list[tuple[TD3Learner, ReplayLearner]]:
    """The networks, and who computes their updates: plain torch, then the accelerator."""
    made: list[tuple[TD3Learner, ReplayLearner]] = []
    for accelerate in (False, True):
        torch.manual_seed(1)
        networks = make_learner(arguments)
        settings = replace(arguments, accelerate=accelerate)
        made.append((networks, td3.make_learner(networks, settings, seeded_session(settings))))
    assert made[0][0] is made[0][1] and made[1][0] is not made[1][1]
    return made


def train(arguments: TD3Arguments, session: Session) -> DriftingPoints:
    envs = DriftingPoints()
    train_on(envs, td3.train, arguments, session)
    return envs


@pytest.mark.parametrize("which", [0, 1], ids=["plain", "accelerated"])
def test_three_updates_are_those_of_the_textbook(which: int) -> None:
    # Noise large enough that both its own limit and the bounds of the actions cut some of it.
    networks, learner = both_learners(
        replace(SMALL, learning_rate=1e-3, tau=0.1, policy_noise=0.8, noise_clip=0.9)
    )[which]
    actor, critics = copy.deepcopy((networks.actor, networks.critics))
    old_actor, old_critics = copy.deepcopy((actor, critics))
    actor_adam = torch.optim.Adam(actor.parameters(), lr=1e-3)
    critic_adam = torch.optim.Adam([*critics[0].parameters(), *critics[1].parameters()], lr=1e-3)
    for iteration in range(3):
        batch = random_batch(16, iteration)
        now, then, actions, rewards, ends = map(torch.from_numpy, batch)
        torch.manual_seed(iteration)
        with torch.no_grad():
            noise = (torch.randn(16, 2) * 0.8).clamp(-0.9, 0.9) * 2.5
            following = (old_actor(then) + noise).clamp(-2.0, 3.0)
            lowest = torch.min(old_critics[0](then, following), old_critics[1](then, following))
            targets = rewards + 0.99 * (1 - ends) * lowest.view(-1)
        losses = [F.mse_loss(critic(now, actions).view(-1), targets) for critic in critics]
        critic_adam.zero_grad()
        (losses[0] + losses[1]).backward()
        critic_adam.step()
        if iteration % 2 == 0:
            actor_adam.zero_grad()
            (-critics[0](now, actor(now)).mean()).backward()
            actor_adam.step()
            pairs = [(old_actor, actor), *zip(old_critics, critics, strict=True)]
            for old, new in pairs:
                for target, source in zip(old.parameters(), new.parameters(), strict=True):
                    target.data.mul_(0.9).add_(source.data, alpha=0.1)
        torch.manual_seed(iteration)
        learner.update(batch, iteration)
    assert_same_weights(networks.actor, actor)
    assert_same_weights(networks.target_actor, old_actor)
    for index in (0, 1):
        assert_same_weights(networks.critics[index], critics[index])
        assert_same_weights(networks.target_critics[index], old_critics[index])
    metrics = learner.metrics()
    assert abs(metrics["losses/qf2_loss"] - losses[1].item()) < 1e-4
    assert abs(metrics["losses/qf_loss"] - (losses[0] + losses[1]).item() / 2) < 1e-4


def test_the_model_file_holds_actor_and_both_critics_as_cleanrls() -> None:
    actor, first, second = make_learner(SMALL).model().payload()
    assert list(actor["action_scale"].shape) == [2]
    assert list(actor["fc_mu.weight"].shape) == [2, 256]
    assert list(first) == list(second)
    assert not torch.equal(first["fc2.weight"], second["fc2.weight"]), "they start apart"


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
    arguments = replace(arguments, learning_rate=1e-3)
    envs = train(arguments, seeded_session(arguments))
    assert envs.mean_reward(slice(200)) < -0.3
    assert envs.mean_reward(slice(-200, None)) > -0.1
