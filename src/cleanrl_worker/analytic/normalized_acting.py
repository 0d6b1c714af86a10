"""NormalizedActing: Linear, LayerNorm and ReLU for a few rows, where every call of numpy counts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import nn

Array = NDArray[np.float32]

_ZERO = np.float32(0.0)


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
    """Acts with the weights of its last `refresh`."""

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
