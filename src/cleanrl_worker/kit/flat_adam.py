"""FlatAdam: torch's fused Adam over FlatParameters, without the optimiser class around it.

The class spends five times the kernel's time on its bookkeeping for small networks, and keeps
settings in its state that differ between a CPU and a captured CUDA graph; the maths is the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.optim.adam import adam

from cleanrl_worker.kit.flat_parameters import FlatParameters

BETA_1, BETA_2 = 0.9, 0.999


class FlatAdam:
    def __init__(self, flat: FlatParameters, learning_rate: float, epsilon: float = 1e-8) -> None:
        device = flat.gradient.device
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
