"""Parameters in one buffer, and the optimisers that work on it: Adam and RAdam.

All parameters of some modules are views of one buffer, their gradients views of another. One buffer
means one kernel for the optimiser and one for clipping instead of one per tensor, and on a CPU
numpy sees the very same memory. Names and shapes of the parameters stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.optim.adam import adam

BETA_1, BETA_2 = 0.9, 0.999
_RADAM_EPSILON = 1e-8
_LONGEST_MEMORY = 2.0 / (1.0 - BETA_2) - 1.0


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

    def move_towards(self, other: FlatParameters, fraction: float) -> None:
        """Go this fraction of the way to the other values, as target networks do; 1 copies."""
        self.values.data.lerp_(other.values.data, fraction)

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


class FlatAdam:
    """Torch's fused Adam over FlatParameters, without the optimiser class around it.

    That class spends five times the kernel's time on its bookkeeping for small networks, and keeps
    settings in its state that differ between a CPU and a captured CUDA graph. The maths is the
    same.
    """

    def __init__(self, flat: FlatParameters, learning_rate: float, epsilon: float = 1e-8) -> None:
        device = flat.gradient.device
        self.flat = flat
        self.epsilon = epsilon
        self.values = flat.values.detach()  # the same memory, without a graph
        self.gradient = flat.gradient
        self.exp_avg = torch.zeros_like(self.gradient)
        self.exp_avg_sq = torch.zeros_like(self.gradient)
        self.step_count = torch.zeros((), device=device)
        # A tensor on a GPU: a captured graph sees the rate of the moment, not of its capture.
        self._learning_rate: float | Tensor = learning_rate
        if device.type == "cuda":
            self._learning_rate = torch.tensor(learning_rate, device=device)

    def set_learning_rate(self, rate: float) -> None:
        if isinstance(self._learning_rate, Tensor):
            self._learning_rate.fill_(rate)
        else:
            self._learning_rate = rate

    def zero_grad(self) -> None:
        self.gradient.zero_()

    def step(self) -> None:
        if isinstance(self._learning_rate, float):
            # What `adam` comes down to on a CPU; its way there takes longer than the kernel.
            self.step_count.add_(1)
            torch._fused_adam_(
                [self.values],
                [self.gradient],
                [self.exp_avg],
                [self.exp_avg_sq],
                [],
                [self.step_count],
                lr=self._learning_rate,
                beta1=BETA_1,
                beta2=BETA_2,
                weight_decay=0.0,
                eps=self.epsilon,
                amsgrad=False,
                maximize=False,
            )
            return
        adam(
            [self.values],
            [self.gradient],
            [self.exp_avg],
            [self.exp_avg_sq],
            [],
            [self.step_count],
            fused=True,
            amsgrad=False,
            beta1=BETA_1,
            beta2=BETA_2,
            lr=self._learning_rate,
            weight_decay=0.0,
            eps=self.epsilon,
            maximize=False,
        )

    def tensors(self) -> tuple[Tensor, ...]:
        """All that `step` changes."""
        return self.values, self.exp_avg, self.exp_avg_sq, self.step_count

    def state_dict(self) -> dict[str, Tensor]:
        return {"step": self.step_count, "exp_avg": self.exp_avg, "exp_avg_sq": self.exp_avg_sq}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.step_count.copy_(state["step"])
        self.exp_avg.copy_(state["exp_avg"])
        self.exp_avg_sq.copy_(state["exp_avg_sq"])


class FlatRAdam(FlatAdam):
    """Torch's RAdam over FlatParameters, by the kernel of Adam.

    RAdam (Liu 2020) is Adam whose rate is held back while its mean square rests on few gradients,
    and which for the first few ignores that mean square altogether.
    """

    def __init__(self, flat: FlatParameters, learning_rate: float) -> None:
        super().__init__(flat, learning_rate, _RADAM_EPSILON)
        self.learning_rate = learning_rate
        self._steps = 0

    def step(self) -> None:
        self._steps += 1
        rectification = variance_rectification(self._steps)
        if rectification is None:
            self._step_without_variance()
            return
        self.set_learning_rate(self.learning_rate * rectification)
        # Adam adds it to the root of the corrected mean square, RAdam to that of the plain one.
        self.epsilon = _RADAM_EPSILON / math.sqrt(1.0 - BETA_2**self._steps)
        super().step()

    def _step_without_variance(self) -> None:
        self.step_count.add_(1)
        self.exp_avg.lerp_(self.gradient, 1.0 - BETA_1)
        self.exp_avg_sq.mul_(BETA_2).addcmul_(self.gradient, self.gradient, value=1.0 - BETA_2)
        self.values.add_(self.exp_avg, alpha=-self.learning_rate / (1.0 - BETA_1**self._steps))

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        super().load_state_dict(state)
        self._steps = int(state["step"])


def variance_rectification(step: int) -> float | None:
    """How far the mean square can be trusted; None in the first steps, when it cannot at all."""
    decay = BETA_2**step
    memory = _LONGEST_MEMORY - 2.0 * step * decay / (1.0 - decay)
    if memory <= 5.0:
        return None
    seen = (memory - 4.0) * (memory - 2.0) / memory
    whole = (_LONGEST_MEMORY - 4.0) * (_LONGEST_MEMORY - 2.0) / _LONGEST_MEMORY
    return math.sqrt(seen / whole)
