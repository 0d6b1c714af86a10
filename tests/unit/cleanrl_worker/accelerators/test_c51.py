"""C51's hand-derived gradient is that of autograd; its projection is that of a readable loop."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cleanrl_worker.accelerators import c51 as numpy_c51
from cleanrl_worker.accelerators.c51 import NumpyC51
from cleanrl_worker.agents.q_networks import C51Network
from cleanrl_worker.algorithms import c51
from cleanrl_worker.algorithms.c51 import C51Arguments, C51Learner
from tests.unit.cleanrl_worker.accelerators.gradient_comparison import assert_same_gradients
from tests.unit.cleanrl_worker.algorithms.q_stand_ins import random_transitions
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import assert_same_weights

ARGUMENTS = C51Arguments(gamma=0.9, learning_rate=1e-3, batch_size=100)


def network(seed: int, spread: float = 1.0) -> C51Network:
    """With a spread, some atoms become so unlikely that the loss ignores them."""
    torch.manual_seed(seed)
    made = C51Network((4,), 3, n_atoms=21, v_min=-5.0, v_max=5.0)
    with torch.no_grad():
        made.network[-1].get_parameter("weight").mul_(spread)
    return made


def learners(spread: float = 1.0) -> tuple[NumpyC51, C51Learner, C51Learner]:
    """The accelerator, the learner whose networks it has, and a plain one with the same weights."""
    own, plain = (C51Learner(network(3, spread), ARGUMENTS) for _ in range(2))
    older = network(4, spread).state_dict()
    own.target.load_state_dict(older)
    plain.target.load_state_dict(older)
    return NumpyC51(own.network, own.target, own.optimizer, ARGUMENTS.gamma), own, plain


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_loss_value_and_gradient_are_those_of_autograd(spread: float) -> None:
    fast, own, plain = learners(spread)
    batch = random_transitions(32, num_actions=3)
    fast.store_gradient(batch)
    plain.update(batch)
    loss, value = fast.metrics()
    expected_loss, expected_value = plain.metrics()
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-4)
    np.testing.assert_allclose(value, expected_value, rtol=1e-3)
    assert_same_gradients(own.network, plain.network)


def test_some_atoms_are_unlikely_in_that_comparison() -> None:
    observations = torch.from_numpy(random_transitions(32, num_actions=3).observations)
    assert (network(3, 100.0).distributions(observations) < 1e-5).float().mean() > 0.05


def test_many_updates_lead_to_the_same_weights() -> None:
    fast, own, plain = learners()
    for index in range(20):
        batch = random_transitions(32, num_actions=3, seed=index)
        fast.update(batch)
        plain.update(batch)
    assert_same_weights(own.network, plain.network, tolerance=1e-4)


def test_both_choose_the_same_actions() -> None:
    fast, _, plain = learners()
    observations = random_transitions(50, num_actions=3).observations
    actions = fast.greedy(observations).tolist()
    assert actions == plain.greedy(observations).tolist()
    assert len(set(actions)) > 1


def slow_projection(
    probabilities: np.ndarray, rewards: np.ndarray, discounts: np.ndarray, atoms: np.ndarray
) -> np.ndarray:
    """Atom by atom, as the article says it."""
    spacing = (atoms[-1] - atoms[0]) / (len(atoms) - 1)
    projected = np.zeros(probabilities.shape)
    for row, (reward, discount) in enumerate(zip(rewards, discounts, strict=True)):
        for atom, probability in zip(atoms, probabilities[row], strict=True):
            moved = min(max(reward + discount * atom, atoms[0]), atoms[-1])
            for index, neighbour in enumerate(atoms):
                nearness = max(0.0, 1.0 - abs(moved - neighbour) / spacing)
                projected[row, index] += nearness * probability
    return projected


def projection_cases() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rewards on an atom, between two and far beyond both ends; some rows terminate."""
    rng = np.random.default_rng(7)
    atoms = np.linspace(-4.0, 6.0, 11)
    rewards = np.array([0.0, 1.0, 0.3, -0.7, 50.0, -50.0, 6.0, -4.0, 5.999, 2.5])
    discounts = np.array([1.0, 0.0, 0.9, 0.99, 0.99, 0.99, 0.0, 0.0, 0.5, 0.0])
    probabilities = rng.dirichlet(np.ones(11), size=10)
    return probabilities, rewards, discounts, atoms


def test_numpy_projects_as_the_loop_does() -> None:
    cases = projection_cases()
    projected = numpy_c51.project(*(case.astype(np.float32) for case in cases))
    np.testing.assert_allclose(projected, slow_projection(*cases), atol=1e-5)
    np.testing.assert_allclose(projected.sum(1), 1.0, atol=1e-5)


def test_torch_projects_as_the_loop_does() -> None:
    cases = projection_cases()
    projected = c51.project(*(torch.from_numpy(case).float() for case in cases)).numpy()
    np.testing.assert_allclose(projected, slow_projection(*cases), atol=1e-5)


def test_an_action_nobody_took_gets_no_gradient() -> None:
    fast, own, _ = learners()
    batch = random_transitions(32, num_actions=3)
    fast.store_gradient(batch)
    fast.store_gradient(batch._replace(actions=np.where(batch.actions == 1, 2, batch.actions)))
    gradient = own.network.network[-1].get_parameter("weight").grad
    assert gradient is not None
    rows = gradient.view(3, 21, 84).abs().sum((1, 2))
    assert (rows > 0).tolist() == [True, False, True]
