"""Towers: equal networks of two hidden ReLU layers, evaluated and differentiated as one, in torch.

At 256 units the time goes into matrix products, which numpy cannot spread over two cores and which
autograd surrounds with copies. Here twin critics share each product, every result has its place
from the start, and nothing is computed that is not used: no gradient of weights that are not to be
learnt. The same calls run on a GPU, and as nothing is allocated a CUDA graph can record them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from cleanrl_worker.kit.optimizers import FlatParameters

_relu_backward: Any = torch.ops.aten.threshold_backward.grad_input


class StackedLinear:
    """The same linear layer of several networks: (towers, batch, inputs) to (.., .., outputs)."""

    def __init__(self, flat: FlatParameters, layers: Sequence[nn.Linear], batch_size: int) -> None:
        weights, biases = [layer.weight for layer in layers], [layer.bias for layer in layers]
        self.weight = stacked(flat.values.data, weights)
        self.bias = stacked(flat.values.data, biases)[:, None]
        self.d_weight = stacked(flat.gradient, weights)
        self.d_bias = stacked(flat.gradient, biases)[:, None]
        towers, outputs, inputs = self.weight.shape
        self.output = self.weight.new_zeros(towers, batch_size, outputs)
        self.d_input = self.weight.new_zeros(towers, batch_size, inputs)
        self._d_weight_transposed = self.weight.new_zeros(towers, inputs, outputs)
        self._input: Tensor = self.d_input

    def forward(self, x: Tensor) -> Tensor:
        self._input = x
        return torch.bmm(x, self.weight.mT, out=self.output).add_(self.bias)

    def store_gradient(self, d_output: Tensor) -> None:
        torch.sum(d_output, 1, keepdim=True, out=self.d_bias)
        _, outputs, inputs = self.weight.shape
        if outputs <= inputs:
            torch.bmm(d_output.mT, self._input, out=self.d_weight)
        else:
            # MKL takes four times as long for a tall and narrow result as for a flat and wide one.
            transposed = torch.bmm(self._input.mT, d_output, out=self._d_weight_transposed)
            self.d_weight.copy_(transposed.mT)

    def input_gradient(self, d_output: Tensor) -> Tensor:
        if d_output.shape[2] == 1:
            return torch.mul(d_output, self.weight, out=self.d_input)
        return torch.bmm(d_output, self.weight, out=self.d_input)


class Towers:
    """Two hidden layers and one or more linear heads, taken from the modules in their order.

    Results are valid until the next `forward`. Gradients land in the parameters' `.grad`.

    Towers of the same form can work in the memory of others, which stays in the cache that way:
    these must not run between `forward` and `backward` of those. Only the heads' outputs are kept.
    """

    def __init__(
        self,
        flat: FlatParameters,
        towers: Sequence[nn.Module],
        batch_size: int,
        within: Towers | None = None,
    ) -> None:
        columns = zip(*(linear_layers(tower) for tower in towers), strict=True)
        self._layers = [StackedLinear(flat, column, batch_size) for column in columns]
        self.first, self.second, *self.heads = self._layers
        self._count = len(towers)
        if within is not None:
            for mine, lent in zip(self._layers, within._layers, strict=True):
                mine.d_input = lent.d_input[: self._count]
            self.first.output = within.first.output[: self._count]
            self.second.output = within.second.output[: self._count]

    def forward(self, inputs: Tensor) -> list[Tensor]:
        """The heads' outputs (towers, batch, size) for the same inputs (batch, size) to all."""
        hidden = self.first.forward(inputs.expand(self._count, -1, -1)).relu_()
        hidden = self.second.forward(hidden).relu_()
        return [head.forward(hidden) for head in self.heads]

    def backward(self, *d_outputs: Tensor) -> None:
        """Stores the gradients of all weights."""
        for head, d_output in zip(self.heads, d_outputs, strict=True):
            head.store_gradient(d_output)
        d_second = self._behind_second(d_outputs)
        self.second.store_gradient(d_second)
        self.first.store_gradient(self._behind_first(d_second))

    def input_gradient(self, *d_outputs: Tensor) -> Tensor:
        """(towers, batch, size); touches no gradient of a weight."""
        return self.first.input_gradient(self._behind_first(self._behind_second(d_outputs)))

    def _behind_second(self, d_outputs: Sequence[Tensor]) -> Tensor:
        d_hidden = self.heads[0].input_gradient(d_outputs[0])
        for head, d_output in zip(self.heads[1:], d_outputs[1:], strict=True):
            d_hidden += head.input_gradient(d_output)
        return relu_gradient(d_hidden, self.second.output)

    def _behind_first(self, d_second: Tensor) -> Tensor:
        return relu_gradient(self.second.input_gradient(d_second), self.first.output)


def relu_gradient(d_output: Tensor, output: Tensor) -> Tensor:
    """Zero where the unit was off; in place."""
    _relu_backward(d_output, output, 0, grad_input=d_output)
    return d_output


def linear_layers(module: nn.Module) -> list[nn.Linear]:
    return [child for child in module.children() if isinstance(child, nn.Linear)]


def stacked(buffer: Tensor, parameters: Sequence[Tensor]) -> Tensor:
    """The same parameter of several networks in one flat buffer, as one tensor over them."""
    offsets = [parameter.storage_offset() for parameter in parameters]
    first = parameters[0]
    gap = offsets[1] - offsets[0] if len(offsets) > 1 else first.numel()
    if offsets != list(range(offsets[0], offsets[0] + gap * len(offsets), gap)):
        raise ValueError("the networks do not lie one after the other in the buffer")
    shape, stride = (len(offsets), *first.shape), (gap, *first.stride())
    return buffer.as_strided(shape, stride, offsets[0])
