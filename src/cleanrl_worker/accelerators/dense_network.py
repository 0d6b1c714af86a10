"""A stack of Linear, Tanh, ReLU and LayerNorm layers in numpy, sharing its weights with torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.kit.optimizers import weight_views

Array = NDArray[np.float32]

_MANY_ROWS = 32
# With many rows, a contiguous copy of the transpose is worth its making up to this many weights.
_FEW_WEIGHTS = 4096


class Layer(Protocol):
    def forward(self, x: Array) -> Array:
        """The layer's output; remembers what `backward` needs."""

    def backward(self, d_output: Array) -> Array:
        """Stores the gradients of its weights, returns that of its input."""


class LinearLayer:
    def __init__(self, layer: nn.Linear) -> None:
        self.weight, self.d_weight = weight_views(layer.weight)
        self.bias, self.d_bias = weight_views(layer.bias)
        self.input: Any = None
        self.has_few_weights = self.weight.size <= _FEW_WEIGHTS
        self.ones = np.ones(0, np.float32)

    def forward(self, x: Array) -> Array:
        self.input = x
        transposed = self.weight.T
        if self.has_few_weights and len(x) >= _MANY_ROWS:
            transposed = transposed.copy()
        output: Array = np.dot(x, transposed)
        output += self.bias
        return output

    def backward(self, d_output: Array) -> Array:
        self.store_gradient(d_output)
        d_input: Array = np.dot(d_output, self.weight)
        return d_input

    def store_gradient(self, d_output: Array) -> None:
        rows = len(d_output)
        if len(self.ones) != rows:
            self.ones = np.ones(rows, np.float32)
        np.dot(d_output.T, self.input, out=self.d_weight)
        np.dot(self.ones, d_output, out=self.d_bias)  # a sum over the rows, several times faster


class TanhLayer:
    def __init__(self) -> None:
        self.output: Any = None

    def forward(self, x: Array) -> Array:
        self.output = np.tanh(x, out=x)
        return x

    def backward(self, d_output: Array) -> Array:
        slope = self.output * self.output
        np.subtract(np.float32(1.0), slope, out=slope)
        slope *= d_output
        result: Array = slope
        return result


class ReluLayer:
    def __init__(self) -> None:
        self.output: Any = None

    def forward(self, x: Array) -> Array:
        self.output = x
        if len(x) < _MANY_ROWS:
            return np.maximum(x, np.float32(0.0), out=x)
        torch.from_numpy(x).relu_()  # for many rows three times as fast
        return x

    def backward(self, d_output: Array) -> Array:
        d_output *= self.output > 0
        return d_output


class LayerNormLayer:
    """By torch's own kernels, which are single operations, and without its graph."""

    def __init__(self, layer: nn.LayerNorm) -> None:
        assert layer.weight.grad is not None
        assert layer.bias.grad is not None
        self.weight, self.d_weight = layer.weight.detach(), layer.weight.grad
        self.bias, self.d_bias = layer.bias.detach(), layer.bias.grad
        self.shape = layer.normalized_shape
        self.epsilon = layer.eps
        self.input: Any = None
        self.statistics: Any = None  # mean and inverse spread of each row

    def forward(self, x: Array) -> Array:
        self.input = torch.from_numpy(x)
        output, *self.statistics = torch.native_layer_norm(
            self.input, self.shape, self.weight, self.bias, self.epsilon
        )
        result: Array = output.numpy()
        return result

    def backward(self, d_output: Array) -> Array:
        d_input, d_weight, d_bias = torch.ops.aten.native_layer_norm_backward(
            torch.from_numpy(d_output),
            self.input,
            self.shape,
            *self.statistics,
            self.weight,
            self.bias,
            [True, True, True],
        )
        self.d_weight.copy_(d_weight)
        self.d_bias.copy_(d_bias)
        result: Array = d_input.numpy()
        return result


class DenseNetwork:
    """`forward`, then `backward`: the gradients land in the torch parameters' `.grad`."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self.layers = [mirror(module) for module in modules]

    def forward(self, x: Array) -> Array:
        for layer in self.layers:
            x = layer.forward(x)
        return x

    def backward(self, d_output: Array) -> None:
        """Overwrites all gradients of this network; the first layer's input needs none."""
        for layer in reversed(self.layers[1:]):
            d_output = layer.backward(d_output)
        first = self.layers[0]
        if isinstance(first, LinearLayer):
            first.store_gradient(d_output)
        else:
            first.backward(d_output)


def mirror(module: nn.Module) -> Layer:
    if isinstance(module, nn.Linear):
        return LinearLayer(module)
    if isinstance(module, nn.Tanh):
        return TanhLayer()
    if isinstance(module, nn.ReLU):
        return ReluLayer()
    if isinstance(module, nn.LayerNorm):
        return LayerNormLayer(module)
    raise TypeError(f"{type(module).__name__} has no hand-derived gradient")
