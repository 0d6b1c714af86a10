"""Actor and critics of SAC for actions that can be counted, from frames, grids or vectors."""

from __future__ import annotations

import torch
import torch.nn.functional as F  # noqa: N812 (its usual name)
from torch import Tensor, nn

from cleanrl_worker.agents.layers import Weighted
from cleanrl_worker.agents.q_networks import ObservationInput

FEATURES = 512


class SoftTrunk(nn.Module):
    """Parameter names as in CleanRL's `sac_atari.py`; a subclass adds the head."""

    def __init__(self, observation_shape: tuple[int, ...]) -> None:
        super().__init__()
        self.inputs = ObservationInput(observation_shape)
        self.conv: nn.Module = nn.Flatten()
        width = self.inputs.width
        if self.inputs.has_frames:
            self.conv, width = convolutions(observation_shape[0]), 64 * 7 * 7
        self.fc1 = kaiming(nn.Linear(width, FEATURES))

    def features(self, observations: Tensor) -> Tensor:
        return F.relu(self.fc1(self.conv(self.inputs.tensor(observations))))


class SoftQNetwork(SoftTrunk):
    def __init__(self, observation_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(observation_shape)
        self.fc_q = kaiming(nn.Linear(FEATURES, num_actions))

    def forward(self, observations: Tensor) -> Tensor:
        """The values of all actions: (batch, actions)."""
        values: Tensor = self.fc_q(self.features(observations))
        return values


class DiscreteSoftActor(SoftTrunk):
    def __init__(self, observation_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__(observation_shape)
        self.fc_logits = kaiming(nn.Linear(FEATURES, num_actions))

    def forward(self, observations: Tensor) -> Tensor:
        """Unnormalised log-probabilities: (batch, actions)."""
        logits: Tensor = self.fc_logits(self.features(observations))
        return logits

    @torch.no_grad()
    def act(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Actions for evaluation and play: the likeliest, or drawn as in training."""
        logits: Tensor = self(observations)
        if deterministic:
            return logits.argmax(1)
        return torch.multinomial(logits.softmax(1), 1)[:, 0]


def convolutions(channels: int) -> nn.Sequential:
    """From 84x84 frames to 64 * 7 * 7 numbers."""
    return nn.Sequential(
        kaiming(nn.Conv2d(channels, 32, 8, stride=4)),
        nn.ReLU(),
        kaiming(nn.Conv2d(32, 64, 4, stride=2)),
        nn.ReLU(),
        kaiming(nn.Conv2d(64, 64, 3, stride=1)),
        nn.ReLU(),
        nn.Flatten(),
    )


def kaiming(layer: Weighted) -> Weighted:
    """Initialised for ReLUs, without bias."""
    nn.init.kaiming_normal_(layer.weight)
    assert layer.bias is not None
    nn.init.zeros_(layer.bias)
    return layer
