"""The numpy layers give what torch gives, forward and backward."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from cleanrl_worker.accelerators.dense_network import DenseNetwork
from cleanrl_worker.kit.optimizers import FlatParameters

NETWORKS = {
    "tanh": lambda: nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 3)),
    "relu": lambda: nn.Sequential(
        nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 2)
    ),
    "layer norm": lambda: nn.Sequential(
        nn.Linear(5, 16), nn.LayerNorm(16), nn.ReLU(), nn.Linear(16, 2)
    ),
}


@pytest.mark.parametrize("rows", [1, 4, 31, 32, 128])
@pytest.mark.parametrize("name", NETWORKS)
def test_outputs_and_gradients_equal_those_of_autograd(name: str, rows: int) -> None:
    torch.manual_seed(rows)
    network = NETWORKS[name]()
    flat = FlatParameters(network)
    dense = DenseNetwork(network)
    inputs = torch.randn(rows, 5)
    output = network(inputs)
    weights = torch.randn_like(output)
    (output * weights).sum().backward()
    expected = flat.gradient.clone()
    flat.gradient.fill_(7.0)  # `backward` overwrites, it does not add
    np.testing.assert_allclose(
        dense.forward(inputs.numpy()), output.detach().numpy(), rtol=1e-5, atol=1e-6
    )
    dense.backward(weights.numpy().copy())
    np.testing.assert_allclose(flat.gradient_array, expected.numpy(), rtol=1e-4, atol=1e-5)


def test_the_weights_are_shared_with_torch() -> None:
    layer = nn.Linear(3, 2)
    network = nn.Sequential(layer)
    FlatParameters(network)
    dense = DenseNetwork(network)
    inputs = np.ones((2, 3), np.float32)
    before = dense.forward(inputs)
    with torch.no_grad():
        layer.bias.add_(1.0)
    np.testing.assert_allclose(dense.forward(inputs), before + 1.0, rtol=1e-6)


def test_the_input_is_left_alone() -> None:
    network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    FlatParameters(network)
    dense = DenseNetwork(network)
    inputs = np.full((40, 3), 0.5, np.float32)
    dense.forward(inputs)
    dense.backward(np.ones((40, 1), np.float32))
    assert (inputs == 0.5).all()


def test_a_layer_without_a_derived_gradient_is_refused() -> None:
    with pytest.raises(TypeError, match="Sigmoid"):
        DenseNetwork([nn.Sigmoid()])
