"""The networks of DQN, C51 and PQN: values from vectors, stacked frames or MiniGrid images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import torch
from gymnasium.spaces import Discrete
from numpy.typing import NDArray
from torch import Tensor, nn

from cleanrl_worker.agents.layers import layer_init
from cleanrl_worker.environments.batch import EnvBatch
from mosaic.errors import ConfigError

FRAME_SIZE = (84, 84)
EVALUATION_EPSILON = 0.05
SMALLEST_PROBABILITY = 1e-5
LARGEST_PROBABILITY = 1.0 - SMALLEST_PROBABILITY  # beyond these two the loss of C51 is flat
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
    def is_small(self) -> bool:
        """Dense layers on a CPU: more threads than one would only wait for each other."""
        return not (self.inputs.has_frames or next(self.parameters()).is_cuda)

    @torch.no_grad()
    def act(self, observations: Tensor, deterministic: bool) -> Tensor:
        """Actions for evaluation and play: the best, or now and then one at random."""
        return self.act_and_value(observations, deterministic)[0]

    @torch.no_grad()
    def act_and_value(self, observations: Tensor, deterministic: bool) -> tuple[Tensor, Tensor]:
        """The same actions, and the value of the best one, (rows,)."""
        values = self(observations)
        actions: Tensor = values.argmax(1)
        highest = values.amax(1)
        if deterministic:
            return actions, highest
        explores = torch.rand_like(values[:, 0]) < EVALUATION_EPSILON
        drawn = torch.randint_like(actions, values.shape[1])
        return torch.where(explores, drawn, actions), highest


class QNetwork(ActionValueNetwork):
    def __init__(self, observation_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()
        self.inputs = ObservationInput(observation_shape)
        self.network = value_layers(self.inputs, num_actions)

    def forward(self, observations: Tensor) -> Tensor:
        values: Tensor = self.network(self.inputs.tensor(observations))
        return values


class C51Network(ActionValueNetwork):
    """For every action a distribution of returns over fixed atoms, not just its mean."""

    atoms: Tensor

    def __init__(
        self,
        observation_shape: tuple[int, ...],
        num_actions: int,
        n_atoms: int,
        v_min: float,
        v_max: float,
    ) -> None:
        super().__init__()
        self.num_actions, self.n_atoms = num_actions, n_atoms
        self.register_buffer("atoms", torch.linspace(v_min, v_max, n_atoms))
        self.inputs = ObservationInput(observation_shape)
        self.network = value_layers(self.inputs, num_actions * n_atoms)

    def distributions(self, observations: Tensor) -> Tensor:
        """The probability of every atom: (batch, actions, atoms)."""
        logits: Tensor = self.network(self.inputs.tensor(observations))
        return logits.view(len(logits), self.num_actions, self.n_atoms).softmax(2)

    def values(self, distributions: Tensor) -> Tensor:
        """Mean returns: the last dimension, over atoms, goes."""
        return distributions @ self.atoms

    def forward(self, observations: Tensor) -> Tensor:
        return self.values(self.distributions(observations))


class PQNNetwork(ActionValueNetwork):
    """Its hidden layers are normalised, which replaces a target network."""

    def __init__(self, observation_shape: tuple[int, ...], num_actions: int) -> None:
        super().__init__()
        self.inputs = ObservationInput(observation_shape)
        layers = normalized_frame_layers if self.inputs.has_frames else normalized_dense_layers
        self.network = layers(self.inputs, num_actions)

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


def normalized_dense_layers(inputs: ObservationInput, num_actions: int) -> nn.Sequential:
    return nn.Sequential(
        layer_init(nn.Linear(inputs.width, 120)),
        nn.LayerNorm(120),
        nn.ReLU(),
        layer_init(nn.Linear(120, 84)),
        nn.LayerNorm(84),
        nn.ReLU(),
        layer_init(nn.Linear(84, num_actions)),
    )


def normalized_frame_layers(inputs: ObservationInput, num_actions: int) -> nn.Sequential:
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
