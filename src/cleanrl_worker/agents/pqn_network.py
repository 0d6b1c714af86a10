"""PQNNetwork: Q-values whose hidden layers are normalised, which replaces a target network."""

from __future__ import annotations

from torch import Tensor, nn

from cleanrl_worker.agents.layers import layer_init
from cleanrl_worker.agents.q_network import ActionValueNetwork, ObservationInput


class PQNNetwork(ActionValueNetwork):
    def __init__(self, observation_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()
        self.inputs = ObservationInput(observation_shape)
        layers = frame_layers if self.inputs.has_frames else dense_layers
        self.network = layers(self.inputs, num_actions)

    def forward(self, observations: Tensor) -> Tensor:
        values: Tensor = self.network(self.inputs.tensor(observations))
        return values


def dense_layers(inputs: ObservationInput, num_actions: int) -> nn.Sequential:
    return nn.Sequential(
        layer_init(nn.Linear(inputs.width, 120)),
        nn.LayerNorm(120),
        nn.ReLU(),
        layer_init(nn.Linear(120, 84)),
        nn.LayerNorm(84),
        nn.ReLU(),
        layer_init(nn.Linear(84, num_actions)),
    )


def frame_layers(inputs: ObservationInput, num_actions: int) -> nn.Sequential:
    """Nature's convolutions of 84x84 frames, each normalised over all of its output."""
    return nn.Sequential(
        layer_init(nn.Conv2d(inputs.shape[0], 32, 8, stride=4)),
        nn.LayerNorm([32, 20, 20]),
        nn.ReLU(),
        layer_init(nn.Conv2d(32, 64, 4, stride=2)),
        nn.LayerNorm([64, 9, 9]),
        nn.ReLU(),
        layer_init(nn.Conv2d(64, 64, 3, stride=1)),
        nn.LayerNorm([64, 7, 7]),
        nn.ReLU(),
        nn.Flatten(),
        layer_init(nn.Linear(64 * 7 * 7, 512)),
        nn.LayerNorm(512),
        nn.ReLU(),
        layer_init(nn.Linear(512, num_actions)),
    )
