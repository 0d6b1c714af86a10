"""SoftActor: a Gaussian squashed into the bounds, the policy of SAC; Temperature: its entropy's."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from cleanrl_worker.agents.action_critic import HIDDEN
from cleanrl_worker.agents.action_range import ActionRange

LOG_STD_MIN, LOG_STD_MAX = -5.0, 2.0
LOG_STD_REACH = (LOG_STD_MAX - LOG_STD_MIN) / 2.0
LOG_STD_MIDDLE = (LOG_STD_MAX + LOG_STD_MIN) / 2.0


class SoftActor(nn.Module):
    """Parameter names as in CleanRL's `sac_continuous_action.py`."""

    action_scale: Tensor
    action_bias: Tensor

    def __init__(self, observation_size: int, actions: ActionRange) -> None:
        super().__init__()
        self.fc1 = nn.Linear(observation_size, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc_mean = nn.Linear(HIDDEN, actions.size)
        self.fc_logstd = nn.Linear(HIDDEN, actions.size)
        self.register_buffer("action_scale", torch.tensor(actions.scale))
        self.register_buffer("action_bias", torch.tensor(actions.bias))

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and logarithm of the deviation, before squashing."""
        hidden = F.relu(self.fc2(F.relu(self.fc1(observations))))
        log_std = LOG_STD_MIDDLE + LOG_STD_REACH * torch.tanh(self.fc_logstd(hidden))
        return self.fc_mean(hidden), log_std

    @torch.no_grad()
    def act(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Actions for evaluation and play: the mean, or drawn as in training."""
        mean, log_std = self(observations.float())
        if not deterministic:
            mean = mean + log_std.exp() * torch.randn_like(mean)
        return torch.tanh(mean) * self.action_scale + self.action_bias


class Temperature(nn.Module):
    """How much a unit of entropy is worth, where that is learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.log_alpha = nn.Parameter(torch.zeros(1))
