"""SAC with countable actions: its update against plain autograd, its files, an exact resume."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)

from cleanrl_worker.algorithms import sac_discrete
from cleanrl_worker.algorithms.sac_discrete import DiscreteSACLearner, SACDiscreteArguments
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import weight_hash
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from cleanrl_worker.kit.replay_buffers import Batch
from cleanrl_worker.kit.session import Session
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import (
    DriftingPoints,
    RememberingReporter,
    assert_same_weights,
    random_batch,
    seeded_session,
    train_on,
    whole_and_resumed_weights,
)

ACTIONS = 4
SMALL = SACDiscreteArguments(
    batch_size=16,
    learning_starts=20,
    total_timesteps=90,
    buffer_size=1000,
    update_frequency=2,
    threads=1,
)
CPU = torch.device("cpu")


def countable_batch(seed: int) -> Batch:
    actions = np.random.default_rng(seed).integers(ACTIONS, size=16)
    return random_batch(16, seed)._replace(actions=actions)


def train(arguments: SACDiscreteArguments, session: Session) -> DriftingPoints:
    envs = DriftingPoints(action_space=gymnasium.spaces.Discrete(ACTIONS))
    train_on(envs, sac_discrete.train, arguments, session)
    return envs


@pytest.mark.parametrize("autotune", [True, False])
def test_three_updates_are_those_of_plain_autograd(autotune: bool) -> None:
    arguments = replace(SMALL, autotune=autotune, tau=0.5, policy_lr=1e-3)
    learner = DiscreteSACLearner(arguments, (3,), ACTIONS, CPU)
    actor, critics = copy.deepcopy((learner.actor, learner.critics))
    old_critics = copy.deepcopy(critics)
    parameters = [*critics[0].parameters(), *critics[1].parameters()]
    critic_adam = torch.optim.Adam(parameters, lr=3e-4, eps=1e-4)
    actor_adam = torch.optim.Adam(actor.parameters(), lr=1e-3, eps=1e-4)
    log_alpha = torch.zeros(1, requires_grad=True)
    alpha_adam = torch.optim.Adam([log_alpha], lr=3e-4, eps=1e-4)
    alpha = 1.0 if autotune else 0.2
    for iteration in range(3):
        batch = countable_batch(iteration)
        now, then, actions, rewards, ends = map(torch.from_numpy, batch)
        with torch.no_grad():
            policy = torch.distributions.Categorical(logits=actor(then))
            lowest = torch.min(old_critics[0](then), old_critics[1](then))
            soft = (policy.probs * (lowest - alpha * policy.logits)).sum(1)
            targets = rewards + 0.99 * (1 - ends) * soft
        losses = [
            F.mse_loss(critic(now).gather(1, actions[:, None]).view(-1), targets)
            for critic in critics
        ]
        critic_adam.zero_grad()
        (losses[0] + losses[1]).backward()
        critic_adam.step()
        policy = torch.distributions.Categorical(logits=actor(now))
        lowest = torch.min(critics[0](now), critics[1](now)).detach()
        actor_loss = (policy.probs * (alpha * policy.logits - lowest)).mean()
        actor_adam.zero_grad()
        actor_loss.backward()
        actor_adam.step()
        if autotune:
            surplus = (policy.logits + 0.89 * math.log(ACTIONS)).detach()
            alpha_loss = (policy.probs.detach() * (-log_alpha.exp() * surplus)).mean()
            alpha_adam.zero_grad()
            alpha_loss.backward()
            alpha_adam.step()
            alpha = log_alpha.exp().item()
        learner.update(batch)
        if iteration == 1:
            learner.move_targets()
            for old, new in zip(old_critics, critics, strict=True):
                for target, source in zip(old.parameters(), new.parameters(), strict=True):
                    target.data.mul_(0.5).add_(source.data, alpha=0.5)
    assert_same_weights(learner.actor, actor)
    for index in (0, 1):
        assert_same_weights(learner.critics[index], critics[index])
        assert_same_weights(learner.target_critics[index], old_critics[index])
    metrics = learner.metrics()
    assert metrics["losses/qf2_loss"] == pytest.approx(losses[1].item(), abs=1e-4)
    assert metrics["losses/actor_loss"] == pytest.approx(actor_loss.item(), abs=1e-4)
    assert metrics["losses/alpha"] == pytest.approx(alpha, abs=1e-6)
    assert ("losses/alpha_loss" in metrics) == autotune


def test_the_model_file_is_the_actor_as_cleanrls() -> None:
    learner = DiscreteSACLearner(SMALL, (4, 84, 84), 6, CPU)
    shapes = {name: list(value.shape) for name, value in learner.actor.state_dict().items()}
    assert shapes == {
        "conv.0.weight": [32, 4, 8, 8],
        "conv.0.bias": [32],
        "conv.2.weight": [64, 32, 4, 4],
        "conv.2.bias": [64],
        "conv.4.weight": [64, 64, 3, 3],
        "conv.4.bias": [64],
        "fc1.weight": [512, 3136],
        "fc1.bias": [512],
        "fc_logits.weight": [6, 512],
        "fc_logits.bias": [6],
    }
    critic = list(learner.critics[0].state_dict())
    assert critic == [name.replace("fc_logits", "fc_q") for name in shapes]


@pytest.mark.parametrize("shape", [(4, 84, 84), (7, 7, 3)])
def test_frames_and_grids_are_learnt_from(shape: tuple[int, ...]) -> None:
    learner = DiscreteSACLearner(SMALL, shape, ACTIONS, CPU)
    rng = np.random.default_rng(0)
    now, then = rng.integers(256, size=(2, 16, *shape)).astype(np.uint8)
    before = copy.deepcopy(learner.actor)
    learner.update(countable_batch(0)._replace(observations=now, next_observations=then))
    assert not torch.equal(before.fc1.weight, learner.actor.fc1.weight)
    actions = learner.explore(now, rng)
    assert actions.shape == (16,)
    assert set(actions.tolist()) <= set(range(ACTIONS))


def test_actions_follow_the_actors_distribution() -> None:
    learner = DiscreteSACLearner(SMALL, (3,), ACTIONS, CPU)
    observations = np.tile(np.array([0.5, -1.0, 2.0], np.float32), (4000, 1))
    actions = learner.explore(observations, np.random.default_rng(0))
    with torch.no_grad():
        expected = learner.actor(torch.from_numpy(observations[:1])).softmax(1)[0]
    shares = np.bincount(actions, minlength=ACTIONS) / len(actions)
    np.testing.assert_allclose(shares, expected.numpy(), atol=0.03)


def test_updates_come_every_few_steps_after_the_random_ones() -> None:
    reporter = RememberingReporter()
    arguments = replace(SMALL, learning_starts=150, total_timesteps=300)
    train(arguments, seeded_session(arguments, reporter))
    assert [step for step, _ in reporter.metrics["losses/qf_loss"]] == [200, 300]
    assert [step for step, _ in reporter.metrics["charts/SPS"]] == [100, 200, 300]


def test_a_resumed_training_ends_with_the_same_weights(tmp_path: Path) -> None:
    arguments = replace(SMALL, checkpoint_interval=15, target_network_frequency=12)
    whole, resumed = whole_and_resumed_weights(
        arguments, lambda session: train(arguments, session), tmp_path, resume_at=45
    )
    assert weight_hash(whole) == weight_hash(resumed)


def test_it_learns_to_stay_in_the_middle() -> None:
    arguments = replace(SMALL, batch_size=32, learning_starts=200, total_timesteps=1000, gamma=0.9)
    arguments = replace(
        arguments, learning_rate=1e-3, autotune=False, alpha=0.01, target_network_frequency=20
    )
    envs = train(arguments, seeded_session(arguments))
    assert envs.mean_reward(slice(200)) < -0.3
    assert envs.mean_reward(slice(-200, None)) > -0.2


def test_on_a_cpu_there_is_nothing_to_accelerate(tmp_path: Path) -> None:
    weights = []
    for accelerate in (True, False):
        arguments = replace(SMALL, accelerate=accelerate)
        store = CheckpointStore(tmp_path / str(accelerate), "test")
        train(arguments, seeded_session(arguments, store=store))
        weights.append(weight_hash(load_checkpoint(tmp_path / str(accelerate)).weights))
    assert weights[0] == weights[1]
