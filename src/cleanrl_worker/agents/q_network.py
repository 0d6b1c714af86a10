"""QNetwork: one value per action, from vectors, stacked frames or MiniGrid images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from cleanrl_worker.agents.nature_cnn import nature_cnn
from mosaic.errors import ConfigError

FRAME_SIZE = (84, 84)
MINIGRID_SHAPE = (7, 7, 3)
_LARGEST_PIXEL = 255.0
_LARGEST_MINIGRID_CODE = 10.0  # an image holds the codes of objects, colours and states


class ObservationInput:
    """How raw observations become what the layers take: floats of a sensible size.

    Frames stay images, scaled to [0, 1]. A MiniGrid image is a handful of small codes rather than a
    picture: it is flattened and scaled to [0, 1]. Vectors are taken as they are.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.width = int(np.prod(shape))
        self.has_frames = len(shape) == 3 and shape[1:] == FRAME_SIZE
        if self.has_frames:
            self.scale = 1.0 / _LARGEST_PIXEL
        elif shape == MINIGRID_SHAPE:
            self.scale = 1.0 / _LARGEST_MINIGRID_CODE
        elif len(shape) == 1:
            self.scale = 1.0
        else:
            raise ConfigError(
                f"No Q-network takes observations of shape {list(shape)}",
                hint="vectors, stacked frames of 84x84 and MiniGrid images are understood",
                field="env_id",
            )

    def tensor(self, observations: Tensor) -> Tensor:
        inputs = observations.float()
        if self.scale != 1.0:
            inputs = inputs * self.scale
        return inputs if self.has_frames else inputs.flatten(1)

    def array(self, observations: NDArray[Any]) -> NDArray[np.float32]:
        """The same for networks in numpy, which have no convolutions."""
        inputs: NDArray[np.float32] = observations.astype(np.float32, copy=False)
        if self.scale != 1.0:
            inputs = inputs.reshape(len(inputs), -1) * np.float32(self.scale)
        return inputs


def value_layers(inputs: ObservationInput, outputs: int) -> nn.Sequential:
    """The layers of DQN and C51, numbered as in CleanRL's files."""
    if inputs.has_frames:
        return nature_cnn(inputs.shape[0], outputs)
    return nn.Sequential(
        nn.Linear(inputs.width, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, outputs),
    )


class QNetwork(nn.Module):
    def __init__(self, observation_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()
        self.inputs = ObservationInput(observation_shape)
        self.network = value_layers(self.inputs, num_actions)

    def forward(self, observations: Tensor) -> Tensor:
        """The values of all actions: (batch, actions)."""
        values: Tensor = self.network(self.inputs.tensor(observations))
        return values
