"""FlatRAdam: torch's RAdam over FlatParameters, in six operations on one vector."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch

from cleanrl_worker.kit.flat_parameters import FlatParameters

BETA_1, BETA_2 = 0.9, 0.999
EPSILON = 1e-8
_LONGEST_MEMORY = 2.0 / (1.0 - BETA_2) - 1.0


class FlatRAdam:
    def __init__(self, flat: FlatParameters, learning_rate: float) -> None:
        self.learning_rate = learning_rate
        self._values = flat.values.detach()  # the same memory, without a graph
        self._gradient = flat.gradient
        self._mean = torch.zeros_like(self._gradient)
        self._mean_square = torch.zeros_like(self._gradient)
        self._steps = 0

    def step(self) -> None:
        self._steps += 1
        self._mean.lerp_(self._gradient, 1.0 - BETA_1)
        self._mean_square.mul_(BETA_2).addcmul_(self._gradient, self._gradient, value=1.0 - BETA_2)
        size = self.learning_rate / (1.0 - BETA_1**self._steps)
        rectification = variance_rectification(self._steps)
        if rectification is None:
            self._values.add_(self._mean, alpha=-size)
        else:
            size *= rectification * math.sqrt(1.0 - BETA_2**self._steps)
            self._values.addcdiv_(self._mean, self._mean_square.sqrt().add_(EPSILON), value=-size)

    def state_dict(self) -> dict[str, Any]:
        return {"steps": self._steps, "mean": self._mean, "mean_square": self._mean_square}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._steps = int(state["steps"])
        self._mean.copy_(state["mean"])
        self._mean_square.copy_(state["mean_square"])


def variance_rectification(step: int) -> float | None:
    """How far the mean square can be trusted; None in the first steps, when it cannot at all."""
    decay = BETA_2**step
    memory = _LONGEST_MEMORY - 2.0 * step * decay / (1.0 - decay)
    if memory <= 5.0:
        return None
    seen = (memory - 4.0) * (memory - 2.0) / memory
    whole = (_LONGEST_MEMORY - 4.0) * (_LONGEST_MEMORY - 2.0) / _LONGEST_MEMORY
    return math.sqrt(seen / whole)
