"""DQN's hand-derived gradient is that of autograd, and so is everything learnt from it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.accelerators.acting_networks import ActingNetwork
from cleanrl_worker.accelerators.dqn import NumpyDQN
from cleanrl_worker.agents.q_networks import QNetwork
from cleanrl_worker.algorithms.dqn import DQNArguments, DQNLearner
from tests.unit.cleanrl_worker.accelerators.gradient_comparison import assert_same_gradients
from tests.unit.cleanrl_worker.algorithms.q_stand_ins import random_transitions
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import assert_same_weights

ARGUMENTS = DQNArguments(gamma=0.9, learning_rate=1e-3)


def numpy_learner(plain: DQNLearner) -> NumpyDQN:
    return NumpyDQN(plain.network, plain.target, plain.optimizer, ARGUMENTS.gamma)


def learners() -> tuple[NumpyDQN, DQNLearner, DQNLearner]:
    """The accelerator, the learner whose networks it has, and a plain one with the same weights."""
    torch.manual_seed(3)
    own, plain = (DQNLearner(QNetwork((4,), 3), ARGUMENTS) for _ in range(2))
    plain.network.load_state_dict(own.network.state_dict())
    torch.manual_seed(4)
    # A target network of its own: both must not take the learning one for it.
    older = QNetwork((4,), 3).state_dict()
    own.target.load_state_dict(older)
    plain.target.load_state_dict(older)
    return numpy_learner(own), own, plain


def test_loss_value_and_gradient_are_those_of_autograd() -> None:
    fast, own, plain = learners()
    batch = random_transitions(32, num_actions=3)
    fast.store_gradient(batch)
    plain.update(batch)
    loss, value = fast.metrics()
    expected_loss, expected_value = plain.metrics()
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    np.testing.assert_allclose(value, expected_value, rtol=1e-4)
    assert_same_gradients(own.network, plain.network)


def test_many_updates_and_syncs_lead_to_the_same_weights() -> None:
    fast, own, plain = learners()
    for index in range(20):
        batch = random_transitions(32, num_actions=3, seed=index)
        fast.update(batch)
        plain.update(batch)
        if index % 5 == 0:
            for learner in (own, plain):
                learner.target_weights.move_towards(learner.weights, 0.5)
    assert_same_weights(own.network, plain.network, tolerance=1e-4)
    assert_same_weights(own.target, plain.target, tolerance=1e-4)


def test_both_choose_the_same_actions() -> None:
    fast, _, plain = learners()
    observations = random_transitions(50, num_actions=3).observations
    actions = fast.greedy(observations).tolist()
    assert actions == plain.greedy(observations).tolist()
    assert len(set(actions)) > 1


def test_what_is_learnt_is_acted_upon() -> None:
    fast, own, _ = learners()
    batch = random_transitions(50, num_actions=3)
    before = fast.greedy(batch.observations).tolist()
    for _ in range(50):
        fast.update(batch)
    after = fast.greedy(batch.observations).tolist()
    values = own.network(torch.from_numpy(batch.observations))
    assert after == values.argmax(1).tolist()
    assert after != before


def test_layers_that_cannot_act_in_numpy_are_refused() -> None:
    with pytest.raises(TypeError, match="Tanh"):
        ActingNetwork([nn.Linear(2, 2), nn.Tanh()])


def test_minigrid_images_are_flattened_and_scaled_alike() -> None:
    network = QNetwork((7, 7, 3), 3)
    images = np.random.default_rng(1).integers(0, 11, (5, 7, 7, 3), dtype=np.uint8)
    values = network(torch.from_numpy(images)).detach().numpy()
    fast = numpy_learner(DQNLearner(network, ARGUMENTS))
    assert fast.greedy(images).tolist() == values.argmax(1).tolist()
    inputs = network.inputs.array(images)
    assert inputs.shape == (5, 147)
    assert inputs.max() == 1.0
    np.testing.assert_array_equal(inputs, network.inputs.tensor(torch.from_numpy(images)).numpy())


def test_the_target_network_moves_only_when_synced() -> None:
    fast, own, _ = learners()
    before = {name: value.clone() for name, value in own.target.state_dict().items()}
    fast.update(random_transitions(8, num_actions=3))
    for name, value in own.target.state_dict().items():
        assert torch.equal(value, before[name])
    own.target_weights.move_towards(own.weights, 0.25)
    for name, value in own.target.state_dict().items():
        online = own.network.state_dict()[name]
        torch.testing.assert_close(value, 0.75 * before[name] + 0.25 * online)
    own.target_weights.move_towards(own.weights, 1.0)
    for name, value in own.target.state_dict().items():
        assert torch.equal(value, own.network.state_dict()[name])
