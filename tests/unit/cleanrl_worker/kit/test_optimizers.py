"""FlatAdam does what torch's Adam does, and goes on where it was saved."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cleanrl_worker.kit.optimizers import FlatAdam, FlatParameters


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
