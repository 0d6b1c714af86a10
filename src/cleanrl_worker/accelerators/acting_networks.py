"""Networks in numpy that only act: for a few rows at a time, where every call counts.

They share their weights with torch, or copy them once for many steps, and keep nothing for a
gradient.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from torch import nn

from cleanrl_worker.accelerators.dense_network import Array, DenseNetwork, LinearLayer, TanhLayer

_ZERO = np.float32(0.0)


class FrozenTower:
    """A tanh tower's output for the same few rows again and again, weights unchanged.

    Acting in a handful of environments is all call overhead. Between two updates the weights stand
    still, so they can be laid out for it beforehand, and nothing is allocated: half the time.
    """

    def __init__(self, network: DenseNetwork) -> None:
        kinds = [type(layer) for layer in network.layers]
        hidden = (len(kinds) - 1) // 2
        assert kinds == [LinearLayer, TanhLayer] * hidden + [LinearLayer]
        self.linears = [layer for layer in network.layers if isinstance(layer, LinearLayer)]
        self.weights: list[Array] = []
        self.biases: list[Array] = []
        self.outputs: list[Array] = []

    def freeze(self, rows: int) -> None:
        """Take the current weights, for inputs of this many rows."""
        self.weights = [layer.weight.T.copy() for layer in self.linears]
        self.biases = [np.tile(layer.bias, (rows, 1)) for layer in self.linears]
        self.outputs = [np.empty_like(bias) for bias in self.biases]

    def forward(self, x: Array) -> Array:
        """The output, overwritten by the next call."""
        last = self.outputs[-1]
        for weight, bias, output in zip(self.weights, self.biases, self.outputs, strict=True):
            np.dot(x, weight, output)
            np.add(output, bias, output)
            if output is not last:
                np.tanh(output, output)
            x = output
        return last


class ActingNetwork:
    """Linear and ReLU layers; shares its weights with torch as DenseNetwork does."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        self._layers: list[tuple[Array, Array, bool]] = []  # transposed weight, bias, rectified?
        for module in modules:
            if isinstance(module, nn.Linear):
                weight, bias = module.weight.detach().numpy(), module.bias.detach().numpy()
                self._layers.append((weight.T, bias, False))
            elif isinstance(module, nn.ReLU):
                self._layers[-1] = (*self._layers[-1][:2], True)
            else:
                raise TypeError(f"{type(module).__name__} is neither Linear nor ReLU")

    def __call__(self, x: Array) -> Array:
        is_row = len(x) == 1
        if is_row:
            x = x[0]  # numpy spends a third less on vectors than on a matrix of one row
        for weight, bias, is_rectified in self._layers:
            x = np.dot(x, weight)
            x += bias
            if is_rectified:
                np.maximum(x, _ZERO, out=x)
        return x[None] if is_row else x


class HiddenLayer(NamedTuple):
    """A normalised layer, and its weights so prepared that the mean square is the variance.

    Centring all outputs of a linear layer is centring its weights, which is done once for many
    rows; dividing them by the root of the width turns the sum of squares into their mean.
    """

    linear: nn.Linear
    norm: nn.LayerNorm
    weight: Array  # transposed
    bias: Array
    gain: Array
    shift: Array  # the norm's own bias

    @classmethod
    def of(cls, linear: nn.Linear, norm: nn.LayerNorm) -> HiddenLayer:
        weight = np.zeros((linear.in_features, linear.out_features), np.float32)
        return cls(linear, norm, weight, *np.zeros((3, linear.out_features), np.float32))

    def refresh(self) -> None:
        root = np.float32(math.sqrt(self.linear.out_features))
        weight, bias = self.linear.weight.detach().numpy(), self.linear.bias.detach().numpy()
        np.divide((weight - weight.mean(0)).T, root, out=self.weight)
        np.divide(bias - bias.mean(), root, out=self.bias)
        np.multiply(self.norm.weight.detach().numpy(), root, out=self.gain)
        self.shift[:] = self.norm.bias.detach().numpy()


class NormalizedActing:
    """Linear, LayerNorm and ReLU; acts with the weights of its last `refresh`."""

    def __init__(self, modules: Iterable[nn.Module]) -> None:
        *hidden, last = modules
        self._hidden: list[HiddenLayer] = []
        for linear, norm, relu in zip(hidden[::3], hidden[1::3], hidden[2::3], strict=True):
            assert isinstance(linear, nn.Linear)
            assert isinstance(norm, nn.LayerNorm)
            assert isinstance(relu, nn.ReLU)
            self._hidden.append(HiddenLayer.of(linear, norm))
        assert isinstance(last, nn.Linear)
        self._last = last
        self.refresh()

    def refresh(self) -> None:
        for layer in self._hidden:
            layer.refresh()
        self._weight = self._last.weight.detach().numpy().T.copy()
        self._bias = self._last.bias.detach().numpy().copy()

    def __call__(self, x: Array) -> Array:
        for _, norm, weight, bias, gain, shift in self._hidden:
            x = np.dot(x, weight)
            x += bias
            spread = np.einsum("ij,ij->i", x, x)
            spread += np.float32(norm.eps)
            np.sqrt(spread, out=spread)
            x /= spread[:, None]
            x *= gain
            x += shift
            np.maximum(x, _ZERO, out=x)
        output: Array = np.dot(x, self._weight)
        output += self._bias
        return output
