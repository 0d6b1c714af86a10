"""MinigridAgent: for the 7x7x3 views of MiniGrid and BabyAI."""

from __future__ import annotations

from torch import Tensor, nn

from cleanrl_worker.agents.actor_critic import TrunkActorCritic
from cleanrl_worker.agents.layers import layer_init, scaled_image

FEATURES = 128
# A view is not a picture: its bytes encode objects, colours and states, none above 10. Divided
# by 255 they would be so small that learning takes several times as long.
LARGEST_CODE = 10.0


class MinigridCNN(nn.Module):
    """Three small convolutions over the view, then 128 features."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            layer_init(nn.Conv2d(3, 32, 3, padding=1)),
            nn.ReLU(),
            layer_init(nn.Conv2d(32, 64, 3, padding=1)),
            nn.ReLU(),
            layer_init(nn.Conv2d(64, 64, 3, padding=1)),
            nn.ReLU(),
            nn.Flatten(),
            layer_init(nn.Linear(64 * 7 * 7, FEATURES)),
        )

    def forward(self, observations: Tensor) -> Tensor:
        image = scaled_image(observations.permute(0, 3, 1, 2), LARGEST_CODE)
        features: Tensor = self.layers(image)
        return features


class MinigridAgent(TrunkActorCritic):
    """Actor and critic each have a hidden layer of their own upon the CNN."""

    def __init__(self, actions: int) -> None:
        super().__init__()
        self.num_actions = actions
        self.network = MinigridCNN()
        self.actor = head(actions, output_std=0.01)
        self.critic = head(1, output_std=1.0)

    def features(self, observations: Tensor) -> Tensor:
        features: Tensor = self.network(observations)
        return features


def head(outputs: int, output_std: float) -> nn.Sequential:
    return nn.Sequential(
        layer_init(nn.Linear(FEATURES, FEATURES)),
        nn.ReLU(),
        layer_init(nn.Linear(FEATURES, outputs), output_std),
    )
