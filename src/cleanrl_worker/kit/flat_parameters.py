"""All parameters of a module as views of one buffer, their gradients as views of another.

One buffer means one kernel for the optimiser and one for clipping instead of one per tensor, and on
a CPU numpy sees the very same memory. Names and shapes of the parameters stay as they are.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn


class FlatParameters:
    def __init__(self, *modules: nn.Module) -> None:
        parameters = [parameter for module in modules for parameter in module.parameters()]
        size = sum(parameter.numel() for parameter in parameters)
        device = parameters[0].device
        values = torch.empty(size, device=device)
        self.gradient = torch.zeros(size, device=device)
        start = 0
        for parameter in parameters:
            end = start + parameter.numel()
            values[start:end] = parameter.data.reshape(-1)
            parameter.data = values[start:end].view(parameter.shape)
            parameter.grad = self.gradient[start:end].view(parameter.shape)
            start = end
        self.values = nn.Parameter(values)
        self.values.data = values  # nn.Parameter must not be a copy
        self.values.grad = self.gradient
        if device.type == "cpu":
            self.gradient_array: NDArray[np.float32] = self.gradient.numpy()  # the same memory

    def clip_gradient(self, limit: float) -> None:
        """Scale the gradient down to this norm, as `clip_grad_norm_` does, without a sync."""
        scale = (limit / (self.gradient.norm() + 1e-6)).clamp(max=1.0)
        self.gradient.mul_(scale)

    def clip_gradient_array(self, limit: float) -> None:
        """The same in numpy, which is quicker for small networks; CPU only."""
        gradient = self.gradient_array
        norm = math.sqrt(float(gradient.dot(gradient)))
        if not norm <= limit:  # not a number: let it be seen
            gradient *= np.float32(limit / (norm + 1e-6))


def weight_views(parameter: torch.Tensor) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A parameter and its gradient as numpy arrays sharing their memory."""
    assert parameter.grad is not None
    return parameter.detach().numpy(), parameter.grad.numpy()
