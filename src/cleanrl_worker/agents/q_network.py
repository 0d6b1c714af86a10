"""QNetwork: one value per action, from vectors, stacked frames or MiniGrid images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from numpy.typing import NDArray
from torch import Tensor, nn

from cleanrl_worker.environments.batch import EnvBatch
from mosaic.errors import ConfigError

FRAME_SIZE = (84, 84)
EVALUATION_EPSILON = 0.05
_LARGEST_PIXEL = 255.0
_LARGEST_GRID_CODE = 10.0  # of MiniGrid, whose images hold codes of objects, colours and states


class ObservationInput:
    """How raw observations become what the layers take: floats of a sensible size.

    Frames stay images, scaled to [0, 1]. The image of a MiniGrid is a handful of small codes rather
    than a picture: it is flattened and scaled to [0, 1]. Vectors are taken as they are.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape
        self.width = int(np.prod(shape))
        self.has_frames = len(shape) == 3 and shape[1:] == FRAME_SIZE
        if self.has_frames:
            self.scale = 1.0 / _LARGEST_PIXEL
        elif len(shape) == 3 and shape[2] == 3:
            self.scale = 1.0 / _LARGEST_GRID_CODE
        elif len(shape) == 1:
            self.scale = 1.0
        else:
            raise ConfigError(
                f"'env_id': no Q-network takes observations of shape {list(shape)}",
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


class ActionValueNetwork(nn.Module, ABC):
    """Values the actions of an observation; `network` holds its layers, numbered as CleanRL's."""

    inputs: ObservationInput
    network: nn.Sequential

    @abstractmethod
    def forward(self, observations: Tensor) -> Tensor:
        """The values of all actions: (batch, actions)."""

    @property
    def needs_autograd(self) -> bool:
        """Hand-derived gradients are for dense layers on a CPU."""
        return self.inputs.has_frames or next(self.parameters()).is_cuda

    @torch.no_grad()
    def act(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Actions for evaluation and play: the best, or now and then one at random."""
        values = self(observations)
        actions: Tensor = values.argmax(1)
        if deterministic:
            return actions
        explores = torch.rand_like(values[:, 0]) < EVALUATION_EPSILON
        return torch.where(explores, torch.randint_like(actions, values.shape[1]), actions)


class QNetwork(ActionValueNetwork):
    def __init__(self, observation_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()
        self.inputs = ObservationInput(observation_shape)
        self.network = value_layers(self.inputs, num_actions)

    def forward(self, observations: Tensor) -> Tensor:
        values: Tensor = self.network(self.inputs.tensor(observations))
        return values


def spaces_of(envs: EnvBatch) -> tuple[tuple[int, ...], int]:
    """The shape of an observation and the number of actions."""
    shape, actions = envs.observation_space.shape, envs.action_space
    if not isinstance(actions, Discrete):
        raise ConfigError(
            f"'env_id': Q-learning needs actions that can be counted, not {actions}",
            hint="ddpg, td3 and sac_continuous_action act by real numbers",
            field="env_id",
        )
    assert shape is not None
    return shape, int(actions.n)


def value_layers(inputs: ObservationInput, outputs: int) -> nn.Sequential:
    """The layers of DQN and C51, initialised as torch does."""
    if inputs.has_frames:
        return nn.Sequential(
            nn.Conv2d(inputs.shape[0], 32, 8, stride=4),
            nn.ReLU(),
            nn.Conv2d(32, 64, 4, stride=2),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, stride=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64 * 7 * 7, 512),
            nn.ReLU(),
            nn.Linear(512, outputs),
        )
    return nn.Sequential(
        nn.Linear(inputs.width, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, outputs),
    )
