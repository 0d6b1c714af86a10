"""DeterministicActor: one action per observation, within the bounds. The policy of DDPG and TD3."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from cleanrl_worker.agents.action_critic import HIDDEN
from cleanrl_worker.agents.action_range import ActionRange

EVALUATION_NOISE = 0.1  # as in training, unless that was told otherwise


class DeterministicActor(nn.Module):
    """Parameter names as in CleanRL's `td3_continuous_action.py` and `ddpg_continuous_action.py`.

    The latter stores the range of its actions with one more dimension: `batched_range`.
    """

    action_scale: Tensor
    action_bias: Tensor

    def __init__(
        self, observation_size: int, actions: ActionRange, *, batched_range: bool = False
    ) -> None:
        super().__init__()
        self.fc1 = nn.Linear(observation_size, HIDDEN)
        self.fc2 = nn.Linear(HIDDEN, HIDDEN)
        self.fc_mu = nn.Linear(HIDDEN, actions.size)
        scale, bias = torch.tensor(actions.scale), torch.tensor(actions.bias)
        self.register_buffer("action_scale", scale[None] if batched_range else scale)
        self.register_buffer("action_bias", bias[None] if batched_range else bias)

    def forward(self, observations: Tensor) -> Tensor:
        hidden = F.relu(self.fc2(F.relu(self.fc1(observations))))
        return torch.tanh(self.fc_mu(hidden)) * self.action_scale + self.action_bias

    @torch.no_grad()
    def act(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Actions for evaluation and play; with noise they may lie beyond the bounds."""
        actions: Tensor = self(observations.float())
        if deterministic:
            return actions
        return actions + torch.randn_like(actions) * self.action_scale * EVALUATION_NOISE
