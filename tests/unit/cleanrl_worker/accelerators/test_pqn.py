"""PQN's hand-derived gradient is that of autograd; its optimiser is torch's RAdam."""

from __future__ import annotations

import copy
import math

import numpy as np
import torch
from torch import nn

from cleanrl_worker.accelerators.acting_networks import NormalizedActing
from cleanrl_worker.accelerators.pqn import NumpyPQN
from cleanrl_worker.agents.q_networks import PQNNetwork
from cleanrl_worker.algorithms.pqn import PQNLearner
from cleanrl_worker.kit.optimizers import FlatParameters, FlatRAdam
from tests.unit.cleanrl_worker.accelerators.gradient_comparison import assert_same_gradients
from tests.unit.cleanrl_worker.algorithms.q_stand_ins import random_transitions
from tests.unit.cleanrl_worker.algorithms.replay_stand_ins import assert_same_weights

SHORT, LONG = 0.05, 1e9  # gradient norms: always and never clipped


def learners(max_grad_norm: float) -> tuple[PQNNetwork, PQNNetwork, NumpyPQN, PQNLearner]:
    torch.manual_seed(5)
    ours = PQNNetwork((4,), 3)
    with torch.no_grad():  # away from 1 and 0, or mistakes in the normalised layers would hide
        for layer in ours.network:
            if isinstance(layer, nn.LayerNorm):
                layer.weight.uniform_(0.5, 1.5)
                layer.bias.uniform_(-0.5, 0.5)
    other = copy.deepcopy(ours)
    return (
        ours,
        other,
        NumpyPQN(ours, FlatRAdam(FlatParameters(ours), 1e-3), max_grad_norm),
        PQNLearner(other, FlatRAdam(FlatParameters(other), 1e-3), max_grad_norm),
    )


def test_loss_value_and_gradient_are_those_of_autograd() -> None:
    ours, other, fast, plain = learners(LONG)
    batch = random_transitions(32, num_actions=3)
    example = batch.observations, batch.actions, batch.rewards
    fast.store_gradient(*example)
    plain.update(*example)
    loss, value = fast.metrics()
    expected_loss, expected_value = plain.metrics()
    np.testing.assert_allclose(loss, expected_loss, rtol=1e-5)
    np.testing.assert_allclose(value, expected_value, rtol=1e-4)
    assert_same_gradients(ours, other)


def test_clipped_updates_lead_to_the_same_weights() -> None:
    ours, other, fast, plain = learners(SHORT)
    for index in range(20):
        batch = random_transitions(32, num_actions=3, seed=index)
        fast.update(batch.observations, batch.actions, batch.rewards)
        plain.update(batch.observations, batch.actions, batch.rewards)
        norm = torch.nn.utils.clip_grad_norm_(ours.parameters(), math.inf)  # clips nothing
        np.testing.assert_allclose(norm.item(), SHORT, rtol=1e-4)
    assert_same_weights(ours, other, tolerance=1e-4)


def test_both_act_and_evaluate_alike() -> None:
    _, _, fast, plain = learners(LONG)
    observations = random_transitions(50, num_actions=3).observations
    actions = fast.greedy(observations).tolist()
    assert actions == plain.greedy(observations).tolist()
    assert len(set(actions)) > 1
    np.testing.assert_allclose(
        fast.best_values(observations), plain.best_values(observations), atol=1e-5
    )


def test_what_is_learnt_is_acted_upon_from_the_next_refresh_on() -> None:
    ours, _, fast, _ = learners(LONG)
    batch = random_transitions(50, num_actions=3)
    before = fast.greedy(batch.observations).tolist()
    for _ in range(100):
        fast.update(batch.observations, batch.actions, batch.rewards)
    assert fast.greedy(batch.observations).tolist() == before
    fast.refresh()
    after = fast.greedy(batch.observations).tolist()
    assert after == ours(torch.from_numpy(batch.observations)).argmax(1).tolist()
    assert after != before


def test_values_to_act_by_are_those_of_torch() -> None:
    ours, _, _, _ = learners(LONG)
    observations = random_transitions(50, num_actions=3).observations
    expected = ours(torch.from_numpy(observations)).detach().numpy()
    np.testing.assert_allclose(NormalizedActing(ours.network)(observations), expected, atol=1e-5)


def test_the_optimiser_is_the_radam_of_torch() -> None:
    torch.manual_seed(1)
    layer = nn.Linear(7, 5)
    expected = nn.Parameter(torch.cat([layer.weight.flatten(), layer.bias]).detach().clone())
    flat = FlatParameters(layer)
    ours = FlatRAdam(flat, 3e-3)
    reference = torch.optim.RAdam([expected], lr=3e-3)
    for _ in range(50):  # the first five steps have no rectification
        gradient = torch.randn(40)
        flat.gradient.copy_(gradient)
        expected.grad = gradient
        ours.step()
        reference.step()
        torch.testing.assert_close(flat.values.data, expected.data, rtol=1e-5, atol=1e-6)


def test_the_optimiser_goes_on_from_its_state() -> None:
    def advance(optimizer: FlatRAdam, flat: FlatParameters, seeds: range) -> None:
        for seed in seeds:
            torch.manual_seed(seed)
            flat.gradient.normal_()
            optimizer.step()

    first = FlatParameters(nn.Linear(7, 5))
    optimizer = FlatRAdam(first, 1e-2)
    advance(optimizer, first, range(10))
    second = FlatParameters(nn.Linear(7, 5))
    second.values.data.copy_(first.values.data)
    resumed = FlatRAdam(second, 1e-2)
    resumed.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    advance(optimizer, first, range(10, 20))
    advance(resumed, second, range(10, 20))
    assert torch.equal(first.values.data, second.values.data)
