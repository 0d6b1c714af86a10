"""Adam and RAdam over one flat vector on a CPU: torch's maths and state, a third of its time.

They are torch's optimisers, so a checkpoint of theirs goes on with torch's own `step` on a GPU;
only `descend` is new. It works in numpy on the same memory and skips the profiler hooks around
`step`, which for ten thousand weights cost more than the arithmetic.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cleanrl_worker.kit.flat_parameters import FlatParameters

Array = NDArray[np.float32]


class Moments:
    """The running means of a gradient and of its square, shared with a torch optimiser's state."""

    def __init__(self, flat: FlatParameters) -> None:
        self.values: Array = flat.values.detach().numpy()
        self.gradient = flat.gradient_array
        self.scratch = np.empty_like(self.values)

    @staticmethod
    def start(flat: FlatParameters) -> dict[str, torch.Tensor]:
        """The state torch itself makes before its first step."""
        return {
            "step": torch.tensor(0.0),
            "exp_avg": torch.zeros_like(flat.values),
            "exp_avg_sq": torch.zeros_like(flat.values),
        }

    def follow(self, state: dict[str, torch.Tensor], group: dict[str, Any]) -> tuple[int, Array]:
        """Take in the gradient; returns the number of this step and the mean gradient.

        Afterwards `scratch` holds the root of the mean square.
        """
        count = state["step"]
        count += 1
        mean, square = state["exp_avg"].numpy(), state["exp_avg_sq"].numpy()
        beta1, beta2 = group["betas"]
        scratch = self.scratch
        np.subtract(self.gradient, mean, out=scratch)
        scratch *= np.float32(1.0 - beta1)
        mean += scratch
        np.multiply(self.gradient, self.gradient, out=scratch)
        scratch *= np.float32(1.0 - beta2)
        square *= np.float32(beta2)
        square += scratch
        np.sqrt(square, out=scratch)
        return int(count), mean


class FlatAdam(torch.optim.Adam):
    def __init__(self, flat: FlatParameters, lr: float, eps: float = 1e-8) -> None:
        super().__init__([flat.values], lr=lr, eps=eps)
        self._parameter = flat.values
        self._moments = Moments(flat)
        self.state[flat.values] = Moments.start(flat)

    def descend(self) -> None:
        """One step against the present gradient."""
        group, moments = self.param_groups[0], self._moments
        beta1, beta2 = group["betas"]
        step, mean = moments.follow(self.state[self._parameter], group)
        root_correction = math.sqrt(1.0 - beta2**step)
        size = group["lr"] * root_correction / (1.0 - beta1**step)
        change = moments.scratch
        change += np.float32(group["eps"] * root_correction)
        np.divide(mean, change, out=change)
        change *= np.float32(size)
        moments.values -= change


class FlatRAdam(torch.optim.RAdam):
    def __init__(self, flat: FlatParameters, lr: float) -> None:
        super().__init__([flat.values], lr=lr)
        self._parameter = flat.values
        self._moments = Moments(flat)
        self.state[flat.values] = Moments.start(flat)

    def descend(self) -> None:
        """One step against the present gradient."""
        group, moments = self.param_groups[0], self._moments
        beta1, beta2 = group["betas"]
        step, mean = moments.follow(self.state[self._parameter], group)
        size = group["lr"] / (1.0 - beta1**step)
        change = moments.scratch
        rectification = variance_rectification(step, beta2)
        if rectification is None:
            np.multiply(mean, np.float32(size), out=change)
        else:
            change += np.float32(group["eps"])
            np.divide(mean, change, out=change)
            change *= np.float32(size * rectification * math.sqrt(1.0 - beta2**step))
        moments.values -= change


def variance_rectification(step: int, beta2: float) -> float | None:
    """RAdam's factor, or None in the first steps, when the variance is not to be trusted at all."""
    longest = 2.0 / (1.0 - beta2) - 1.0
    decay = beta2**step
    length = longest - 2.0 * step * decay / (1.0 - decay)
    if length <= 5.0:
        return None
    seen = (length - 4.0) * (length - 2.0) / length
    whole = (longest - 4.0) * (longest - 2.0) / longest
    return math.sqrt(seen / whole)
