"""The convolutional network of the DQN article in Nature, and PPO's agent upon it."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from cleanrl_worker.agents.actor_critic import TrunkActorCritic
from cleanrl_worker.agents.layers import layer_init, scaled_image

FEATURES = 512
LARGEST_PIXEL = 255.0

Initialise = Callable[[nn.Linear | nn.Conv2d], nn.Module]


def nature_layers(channels: int, initialise: Initialise) -> list[nn.Module]:
    """From 84x84 frames, scaled to 0..1, to 512 features."""
    return [
        initialise(nn.Conv2d(channels, 32, 8, stride=4)),
        nn.ReLU(),
        initialise(nn.Conv2d(32, 64, 4, stride=2)),
        nn.ReLU(),
        initialise(nn.Conv2d(64, 64, 3, stride=1)),
        nn.ReLU(),
        nn.Flatten(),
        initialise(nn.Linear(64 * 7 * 7, FEATURES)),
        nn.ReLU(),
    ]


def nature_cnn(channels: int, outputs: int) -> nn.Sequential:
    """One number per output, initialised as torch does: the network of DQN and C51."""
    layers = nature_layers(channels, initialise=lambda layer: layer)
    return nn.Sequential(*layers, nn.Linear(FEATURES, outputs))


def nature_features(channels: int) -> nn.Sequential:
    """The features PPO's heads stand on, initialised orthogonally."""
    return nn.Sequential(*nature_layers(channels, layer_init))


class NatureCNNAgent(TrunkActorCritic):
    """Parameter names as in CleanRL's `ppo_atari.py`."""

    def __init__(self, channels: int, actions: int) -> None:
        super().__init__()
        self.num_actions = actions
        self.network = nature_features(channels)
        self.actor = layer_init(nn.Linear(FEATURES, actions), std=0.01)
        self.critic = layer_init(nn.Linear(FEATURES, 1), std=1.0)

    def features(self, observations: Tensor) -> Tensor:
        features: Tensor = self.network(scaled_image(observations, LARGEST_PIXEL))
        return features
