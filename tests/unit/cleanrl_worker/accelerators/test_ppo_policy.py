"""The towers in numpy act as the agent does, with the weights of the rollout's start."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cleanrl_worker.accelerators.ppo_policy import MirroredPolicy, NumpyPolicy
from cleanrl_worker.agents.mlp import ContinuousTowers, DiscreteTowers
from cleanrl_worker.kit.optimizers import FlatParameters


@pytest.mark.parametrize("rows", [1, 4])
def test_without_noise_the_means_are_the_actions(rows: int) -> None:
    torch.manual_seed(2)
    agent = ContinuousTowers(5, 3)
    FlatParameters(agent)
    policy = NumpyPolicy(agent)
    policy.start_rollout(rows)
    observations = torch.randn(rows, 5)
    actions = policy.act(observations.numpy(), np.zeros((rows, 3), np.float32))
    expected = agent.act(observations, deterministic=True).numpy()
    np.testing.assert_allclose(actions, expected, rtol=1e-4, atol=1e-6)


def test_actions_of_one_step_survive_the_next() -> None:
    agent = ContinuousTowers(2, 1)
    FlatParameters(agent)
    policy = NumpyPolicy(agent)
    policy.start_rollout(1)
    first = policy.act(np.ones((1, 2), np.float32), np.ones((1, 1), np.float32))
    before = first.copy()
    policy.act(np.zeros((1, 2), np.float32), np.zeros((1, 1), np.float32))
    np.testing.assert_array_equal(first, before)


def test_a_mirror_follows_the_learner_at_the_start_of_a_rollout() -> None:
    torch.manual_seed(2)
    agent = DiscreteTowers(4, 2)
    flat = FlatParameters(agent)
    mirror = MirroredPolicy(agent, flat)
    observations = torch.randn(40, 4)
    before, _ = mirror.evaluate(observations.numpy())
    with torch.no_grad():
        flat.values.add_(0.1)
    unchanged, _ = mirror.evaluate(observations.numpy())
    np.testing.assert_array_equal(unchanged, before)
    mirror.start_rollout(40)
    outputs, values = mirror.evaluate(observations.numpy())
    with torch.no_grad():
        expected, expected_values = agent.policy_and_value(observations)
    np.testing.assert_allclose(outputs, expected.numpy(), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(values, expected_values.numpy(), rtol=1e-4, atol=1e-5)
    likeliest = mirror.act(observations.numpy(), np.zeros((40, 2), np.float32))
    np.testing.assert_array_equal(likeliest, expected.argmax(1).numpy())
