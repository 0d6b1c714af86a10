"""Towers: several networks as one, with the values and gradients each has by itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cleanrl_worker.accelerators.towers import Towers
from cleanrl_worker.agents.continuous_control import ActionCritic, ActionRange, SoftActor
from cleanrl_worker.kit.optimizers import FlatParameters

BATCH = 8


def twin_critics() -> tuple[list[ActionCritic], FlatParameters, Towers]:
    critics = [ActionCritic(3, 2), ActionCritic(3, 2)]
    flat = FlatParameters(*critics)
    return critics, flat, Towers(flat, critics, BATCH)


def test_twins_give_the_values_and_gradients_of_each() -> None:
    critics, flat, towers = twin_critics()
    inputs, slopes = torch.randn(BATCH, 5), torch.randn(2, BATCH, 1)
    (values,) = towers.forward(inputs)
    towers.backward(slopes)
    ours = flat.gradient.clone()
    flat.gradient.zero_()
    for index, critic in enumerate(critics):
        expected = critic(inputs[:, :3], inputs[:, 3:])
        torch.testing.assert_close(values[index], expected)
        expected.backward(slopes[index])
    torch.testing.assert_close(ours, flat.gradient)


def test_the_gradient_of_the_inputs_leaves_that_of_the_weights_alone() -> None:
    critics, flat, towers = twin_critics()
    inputs, slopes = torch.randn(BATCH, 5, requires_grad=True), torch.randn(2, BATCH, 1)
    flat.gradient.fill_(7.0)
    towers.forward(inputs.detach())
    ours = towers.input_gradient(slopes)
    assert (flat.gradient == 7.0).all()
    for index, critic in enumerate(critics):
        value = critic(inputs[:, :3], inputs[:, 3:])
        (expected,) = torch.autograd.grad(value, inputs, slopes[index])
        torch.testing.assert_close(ours[index], expected)


def test_all_heads_contribute_to_what_is_below_them() -> None:
    actor = SoftActor(3, ActionRange(-np.ones(2), np.ones(2)))
    flat = FlatParameters(actor)
    towers = Towers(flat, [actor], BATCH)
    inputs, slopes = torch.randn(BATCH, 3), torch.randn(2, BATCH, 2)
    mean, raw_log_std = towers.forward(inputs)
    towers.backward(slopes[:1], slopes[1:])
    ours = flat.gradient.clone()
    flat.gradient.zero_()
    hidden = actor.fc2(actor.fc1(inputs).relu()).relu()
    expected_mean, expected_raw = actor.fc_mean(hidden), actor.fc_logstd(hidden)
    torch.testing.assert_close(mean[0], expected_mean)
    torch.testing.assert_close(raw_log_std[0], expected_raw)
    torch.autograd.backward([expected_mean, expected_raw], [slopes[0], slopes[1]])
    torch.testing.assert_close(ours, flat.gradient)


def test_networks_that_do_not_lie_evenly_are_refused() -> None:
    critics = [ActionCritic(3, 2) for _ in range(3)]
    other = ActionCritic(1, 1)
    flat = FlatParameters(critics[0], critics[1], other, critics[2])
    with pytest.raises(ValueError, match="one after the other"):
        Towers(flat, critics, BATCH)
