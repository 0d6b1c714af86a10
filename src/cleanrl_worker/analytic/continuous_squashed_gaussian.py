"""SquashedGaussian: actions sampled from SAC's policy, their log-probability and its gradient."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from cleanrl_worker.agents.soft_actor_critic import LOG_STD_MIDDLE, LOG_STD_REACH

_LOG_SQRT_TAU = math.log(math.sqrt(2.0 * math.pi))
_EPSILON = 1e-6  # keeps the logarithm finite at the bounds


class SquashedGaussian:
    """action = scale * tanh(mean + deviation * noise) + bias.

    `mean` and `raw_log_std` are what the actor's heads give, (batch, size) both.
    """

    def __init__(self, scale: Tensor, bias: Tensor) -> None:
        self._scale, self._bias = scale, bias

    def sample(self, mean: Tensor, raw_log_std: Tensor) -> tuple[Tensor, Tensor]:
        """Actions (batch, size) and their log-probabilities (batch, 1)."""
        self._bend = torch.tanh(raw_log_std)
        log_std = self._bend * LOG_STD_REACH + LOG_STD_MIDDLE
        noise = torch.randn_like(mean)
        self._spread = log_std.exp().mul_(noise)
        self._squashed = torch.add(mean, self._spread).tanh_()
        self._slope = 1.0 - self._squashed * self._squashed
        self._stretch = (self._slope * self._scale).add_(_EPSILON)
        log_probability = noise.mul_(noise).mul_(-0.5).sub_(log_std).sub_(_LOG_SQRT_TAU)
        log_probability -= self._stretch.log()
        actions = self._squashed * self._scale + self._bias
        return actions, log_probability.sum(1, keepdim=True)

    def backward(self, d_actions: Tensor, d_log_probability: Tensor) -> tuple[Tensor, Tensor]:
        """From the gradients of the last sample to those of `mean` and `raw_log_std`.

        The noise stays what it was, so the density's exponent does not change; what changes are the
        deviation's own logarithm and the logarithm of the slope where the sample lands.
        """
        d_squashed = 2.0 * self._squashed / self._stretch
        d_squashed.mul_(d_log_probability).add_(d_actions).mul_(self._scale)
        d_mean = d_squashed.mul_(self._slope)
        d_log_std = (d_mean * self._spread).sub_(d_log_probability)
        bend_slope = (1.0 - self._bend * self._bend).mul_(LOG_STD_REACH)
        return d_mean, d_log_std.mul_(bend_slope)
