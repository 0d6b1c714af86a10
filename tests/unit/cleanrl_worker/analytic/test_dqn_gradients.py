"""DQN's hand-derived gradient is that of autograd, and so is everything learnt from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.agents.q_network import QNetwork
from cleanrl_worker.algorithms.dqn import AutogradQLearner
from cleanrl_worker.analytic.acting_network import ActingNetwork
from cleanrl_worker.analytic.q_learner import AnalyticQLearner
from tests.unit.cleanrl_worker.algorithms.q_stand_ins import random_transitions
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import assert_same_weights
from tests.unit.cleanrl_worker.analytic.gradient_comparison import assert_same_gradients

GAMMA, RATE = 0.9, 1e-3


def learners() -> tuple[AnalyticQLearner, AutogradQLearner]:
    torch.manual_seed(3)
    analytic = AnalyticQLearner(QNetwork((4,), 3), GAMMA, RATE)
    autograd = AutogradQLearner(QNetwork((4,), 3), GAMMA, RATE)
    autograd.network.load_state_dict(analytic.network.state_dict())
    torch.manual_seed(4)
    # A target network of its own: both must not take the learning one for it.
    older = QNetwork((4,), 3).state_dict()
    analytic.target.load_state_dict(older)
    autograd.target.load_state_dict(older)
    return analytic, autograd


def test_loss_value_and_gradient_are_those_of_autograd() -> None:
    analytic, autograd = learners()
    batch = random_transitions(32, num_actions=3)
    analytic.store_gradient(batch)
    autograd.learn(batch)
    loss, value = analytic.figures()
    expected_loss, expected_value = autograd.figures()
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    np.testing.assert_allclose(value, expected_value, rtol=1e-4)
    assert_same_gradients(analytic.network, autograd.network)


def test_many_updates_and_syncs_lead_to_the_same_weights() -> None:
    analytic, autograd = learners()
    for index in range(20):
        batch = random_transitions(32, num_actions=3, seed=index)
        analytic.learn(batch)
        autograd.learn(batch)
        if index % 5 == 0:
            analytic.sync_target(0.5)
            autograd.sync_target(0.5)
    assert_same_weights(analytic.network, autograd.network, tolerance=1e-4)
    assert_same_weights(analytic.target, autograd.target, tolerance=1e-4)


def test_both_choose_the_same_actions() -> None:
    analytic, autograd = learners()
    observations = random_transitions(50, num_actions=3).observations
    actions = analytic.greedy(observations).tolist()
    assert actions == autograd.greedy(observations).tolist()
    assert len(set(actions)) > 1


def test_what_is_learnt_is_acted_upon() -> None:
    analytic, _ = learners()
    batch = random_transitions(50, num_actions=3)
    before = analytic.greedy(batch.observations).tolist()
    for _ in range(50):
        analytic.learn(batch)
    after = analytic.greedy(batch.observations).tolist()
    values = analytic.network(torch.from_numpy(batch.observations))
    assert after == values.argmax(1).tolist()
    assert after != before


def test_layers_that_cannot_act_in_numpy_are_refused() -> None:
    with pytest.raises(TypeError, match="Tanh"):
        ActingNetwork([nn.Linear(2, 2), nn.Tanh()])


def test_minigrid_images_are_flattened_and_scaled_alike() -> None:
    network = QNetwork((7, 7, 3), 3)
    images = np.random.default_rng(1).integers(0, 11, (5, 7, 7, 3), dtype=np.uint8)
    values = network(torch.from_numpy(images)).detach().numpy()
    analytic = AnalyticQLearner(network, GAMMA, RATE)
    assert analytic.greedy(images).tolist() == values.argmax(1).tolist()
    inputs = network.inputs.array(images)
    assert inputs.shape == (5, 147)
    assert inputs.max() == 1.0
    np.testing.assert_array_equal(inputs, network.inputs.tensor(torch.from_numpy(images)).numpy())


def test_the_target_network_moves_only_when_synced() -> None:
    analytic, _ = learners()
    before = {name: value.clone() for name, value in analytic.target.state_dict().items()}
    analytic.learn(random_transitions(8, num_actions=3))
    for name, value in analytic.target.state_dict().items():
        assert torch.equal(value, before[name])
    analytic.sync_target(0.25)
    for name, value in analytic.target.state_dict().items():
        online = analytic.network.state_dict()[name]
        torch.testing.assert_close(value, 0.75 * before[name] + 0.25 * online)
    analytic.sync_target(1.0)
    for name, value in analytic.target.state_dict().items():
        assert torch.equal(value, analytic.network.state_dict()[name])
