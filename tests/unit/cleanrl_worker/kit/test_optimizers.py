"""FlatAdam does what torch's Adam does, on one flat buffer, and continues where it was saved."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters, weight_views


def gradients(count: int, size: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(4)
    return [torch.randn(size, generator=generator) for _ in range(count)]


def make(seed: int = 1) -> tuple[FlatParameters, FlatAdam]:
    torch.manual_seed(seed)
    flat = FlatParameters(nn.Linear(5, 3))
    return flat, FlatAdam(flat, learning_rate=0.1, epsilon=1e-5)


def test_steps_equal_those_of_torch() -> None:
    flat, optimizer = make()
    expected = nn.Parameter(flat.values.detach().clone())
    reference = torch.optim.Adam([expected], lr=0.1, eps=1e-5)
    for index, gradient in enumerate(gradients(6, 18)):
        rate = 0.1 / (index + 1)
        optimizer.set_learning_rate(rate)
        reference.param_groups[0]["lr"] = rate
        flat.gradient.copy_(gradient)
        expected.grad = gradient
        optimizer.step()
        reference.step()
        torch.testing.assert_close(flat.values.detach(), expected.detach())


def test_a_loaded_optimizer_goes_on_exactly() -> None:
    flat, optimizer = make()
    steps = gradients(4, 18)
    for gradient in steps[:2]:
        flat.gradient.copy_(gradient)
        optimizer.step()
    saved = {name: value.clone() for name, value in optimizer.state_dict().items()}
    other_flat, other = make(seed=2)
    other_flat.values.data.copy_(flat.values.data)
    other.load_state_dict(saved)
    for gradient in steps[2:]:
        for parameters, adam in ((flat, optimizer), (other_flat, other)):
            parameters.gradient.copy_(gradient)
            adam.step()
    assert torch.equal(flat.values, other_flat.values)


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
