"""A stack of Linear, Tanh, ReLU and LayerNorm layers in numpy, sharing its weights with torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.kit.flat_parameters import weight_views

Array = NDArray[np.float32]

# From this many rows on, multiplying by a contiguous copy of the transpose pays for the copy.
_ROWS_WORTH_A_COPY = 32


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
        self.ones = np.ones(0, np.float32)

    def forward(self, x: Array) -> Array:
        self.input = x
        transposed = self.weight.T
        output: Array = np.dot(x, transposed if len(x) < _ROWS_WORTH_A_COPY else transposed.copy())
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
        self.output = np.maximum(x, np.float32(0.0), out=x)
        return x

    def backward(self, d_output: Array) -> Array:
        d_output *= self.output > 0
        return d_output


class LayerNormLayer:
    def __init__(self, layer: nn.LayerNorm) -> None:
        self.weight, self.d_weight = weight_views(layer.weight)
        self.bias, self.d_bias = weight_views(layer.bias)
        self.epsilon = np.float32(layer.eps)
        self.normal: Any = None
        self.scale: Any = None

    def forward(self, x: Array) -> Array:
        x = x - x.mean(1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[1])
        self.scale = 1.0 / np.sqrt(variance + self.epsilon)
        x *= self.scale
        self.normal = x
        output: Array = x * self.weight
        output += self.bias
        return output

    def backward(self, d_output: Array) -> Array:
        np.einsum("ij,ij->j", d_output, self.normal, out=self.d_weight)
        d_output.sum(0, out=self.d_bias)
        d_normal: Array = d_output * self.weight
        width = np.float32(d_normal.shape[1])
        along = np.einsum("ij,ij->i", d_normal, self.normal)[:, None] / width
        d_normal -= d_normal.mean(1, keepdims=True)
        d_normal -= self.normal * along
        d_normal *= self.scale
        return d_normal


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
