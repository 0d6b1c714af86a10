"""Flat parameters: one buffer, the same network."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.kit.optimizers import FlatParameters, weight_views


def network(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 2))


def test_the_network_stays_what_it_was() -> None:
    plain, flat_network = network(), network()
    FlatParameters(flat_network)
    assert [(name, tuple(value.shape)) for name, value in flat_network.state_dict().items()] == [
        (name, tuple(value.shape)) for name, value in plain.state_dict().items()
    ]
    inputs = torch.randn(4, 3)
    assert torch.equal(plain(inputs), flat_network(inputs))


def test_values_and_gradients_are_views_of_the_buffers() -> None:
    module = network()
    flat = FlatParameters(module)
    assert flat.values.numel() == sum(parameter.numel() for parameter in module.parameters())
    with torch.no_grad():
        flat.values.zero_()
    assert all(not parameter.any() for parameter in module.parameters())
    module.load_state_dict(network(1).state_dict())
    assert flat.values.any()
    module(torch.ones(1, 3)).sum().backward()
    gathered = [parameter.grad.reshape(-1) for parameter in module.parameters()]  # type: ignore[union-attr]
    assert torch.equal(torch.cat(gathered), flat.gradient)
    assert flat.values.grad is flat.gradient
    weight, gradient = weight_views(module[0].weight)  # type: ignore[arg-type]
    weight[:] = 7
    gradient[:] = 3
    assert (flat.values[:15] == 7).all()
    assert (flat.gradient_array[:15] == 3).all()


@pytest.mark.parametrize("limit", [0.01, 1000.0])
def test_one_optimiser_step_equals_that_on_separate_tensors(limit: float) -> None:
    plain, flat_network = network(), network()
    flat = FlatParameters(flat_network)
    separate = torch.optim.Adam(plain.parameters(), lr=0.01)
    together = torch.optim.Adam([flat.values], lr=0.01)
    inputs = torch.randn(8, 3)
    for _ in range(3):
        separate.zero_grad()
        plain(inputs).square().sum().backward()
        nn.utils.clip_grad_norm_(plain.parameters(), limit)
        separate.step()
        flat.gradient.zero_()
        flat_network(inputs).square().sum().backward()
        flat.clip_gradient(limit)
        together.step()
    for one, other in zip(plain.parameters(), flat_network.parameters(), strict=True):
        np.testing.assert_allclose(
            one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-7
        )


def test_several_modules_share_one_buffer() -> None:
    first, second = network(0), network(1)
    flat = FlatParameters(first, second)
    size = flat.values.numel()
    with torch.no_grad():
        flat.values[size // 2 :] = 0
    assert all(parameter.any() for parameter in first.parameters())
    assert all(not parameter.any() for parameter in second.parameters())
