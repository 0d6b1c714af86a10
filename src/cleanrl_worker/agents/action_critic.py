"""ActionCritic: the value of an observation and an action. What DDPG, TD3 and SAC learn from."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

HIDDEN = 256


class ActionCritic(nn.Module):
    """Parameter names as in CleanRL's continuous `QNetwork` and `SoftQNetwork`."""

    def __init__(self, observation_size: int, action_size: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(observation_size + action_size, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc3 = nn.Linear(HIDDEN, 1)

    def forward(self, observations: Tensor, actions: Tensor) -> Tensor:
        hidden = F.relu(self.fc1(torch.cat([observations, actions], 1)))
        value: Tensor = self.fc3(F.relu(self.fc2(hidden)))
        return value
