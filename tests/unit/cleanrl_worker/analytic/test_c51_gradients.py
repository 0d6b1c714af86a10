"""C51's hand-derived gradient is that of autograd; its projection is that of a readable loop."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cleanrl_worker.agents.c51_network import C51Network
from cleanrl_worker.algorithms import c51
from cleanrl_worker.algorithms.c51 import AutogradC51Learner
from cleanrl_worker.analytic import c51_learner
from cleanrl_worker.analytic.c51_learner import AnalyticC51Learner
from tests.unit.cleanrl_worker.algorithms.q_stand_ins import random_transitions
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import assert_same_weights
from tests.unit.cleanrl_worker.analytic.gradient_comparison import assert_same_gradients

SETTINGS = 0.9, 1e-3, 1e-4


def network(seed: int, spread: float = 1.0) -> C51Network:
    """With a spread, some atoms become so unlikely that the loss ignores them."""
    torch.manual_seed(seed)
    made = C51Network((4,), 3, n_atoms=21, v_min=-5.0, v_max=5.0)
    with torch.no_grad():
        made.network[-1].get_parameter("weight").mul_(spread)
    return made


def learners(spread: float = 1.0) -> tuple[AnalyticC51Learner, AutogradC51Learner]:
    analytic = AnalyticC51Learner(network(3, spread), *SETTINGS)
    autograd = AutogradC51Learner(network(3, spread), *SETTINGS)
    older = network(4, spread).state_dict()
    analytic.target.load_state_dict(older)
    autograd.target.load_state_dict(older)
    return analytic, autograd


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_loss_value_and_gradient_are_those_of_autograd(spread: float) -> None:
    analytic, autograd = learners(spread)
    batch = random_transitions(32, num_actions=3)
    analytic.store_gradient(batch)
    autograd.learn(batch)
    loss, value = analytic.figures()
    expected_loss, expected_value = autograd.figures()
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-4)
    np.testing.assert_allclose(value, expected_value, rtol=1e-3)
    assert_same_gradients(analytic.network, autograd.network)


def test_some_atoms_are_unlikely_in_that_comparison() -> None:
    observations = torch.from_numpy(random_transitions(32, num_actions=3).observations)
    assert (network(3, 100.0).distributions(observations) < 1e-5).float().mean() > 0.05


def test_many_updates_lead_to_the_same_weights() -> None:
    analytic, autograd = learners()
    for index in range(20):
        batch = random_transitions(32, num_actions=3, seed=index)
        analytic.learn(batch)
        autograd.learn(batch)
    assert_same_weights(analytic.network, autograd.network, tolerance=1e-4)


def test_both_choose_the_same_actions() -> None:
    analytic, autograd = learners()
    observations = random_transitions(50, num_actions=3).observations
    actions = analytic.greedy(observations).tolist()
    assert actions == autograd.greedy(observations).tolist()
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
    projected = c51_learner.project(*(case.astype(np.float32) for case in cases))
    np.testing.assert_allclose(projected, slow_projection(*cases), atol=1e-5)
    np.testing.assert_allclose(projected.sum(1), 1.0, atol=1e-5)


def test_torch_projects_as_the_loop_does() -> None:
    cases = projection_cases()
    projected = c51.project(*(torch.from_numpy(case).float() for case in cases)).numpy()
    np.testing.assert_allclose(projected, slow_projection(*cases), atol=1e-5)


def test_an_action_nobody_took_gets_no_gradient() -> None:
    analytic, _ = learners()
    batch = random_transitions(32, num_actions=3)
    analytic.store_gradient(batch)
    analytic.store_gradient(batch._replace(actions=np.where(batch.actions == 1, 2, batch.actions)))
    gradient = analytic.network.network[-1].get_parameter("weight").grad
    assert gradient is not None
    rows = gradient.view(3, 21, 84).abs().sum((1, 2))
    assert (rows > 0).tolist() == [True, False, True]
