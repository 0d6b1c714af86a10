"""QLearner: a Q-network that acts and learns, beside the older copy its targets come from."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cleanrl_worker.agents.q_network import ActionValueNetwork
from cleanrl_worker.kit.cuda_graph import graphed
from cleanrl_worker.kit.flat_adam import FlatAdam
from cleanrl_worker.kit.flat_parameters import FlatParameters
from cleanrl_worker.kit.replay_buffer import Batch

Network = TypeVar("Network", bound=ActionValueNetwork)
Actions = NDArray[np.int64]


class Figures(NamedTuple):
    """What a chart shows of an update; costs time, so it is only worked out when asked for."""

    loss: float
    mean_value: float  # of the actions taken


class QLearner(ABC, Generic[Network]):
    """Its networks and its optimiser are what a checkpoint needs of it."""

    def __init__(
        self, network: Network, gamma: float, learning_rate: float, adam_epsilon: float = 1e-8
    ) -> None:
        self.network = network
        self.target = copy.deepcopy(network).requires_grad_(False)
        self.gamma = gamma
        self._flat = FlatParameters(self.network)
        self._flat_target = FlatParameters(self.target)
        self.optimizer = FlatAdam(self._flat, learning_rate, adam_epsilon)

    @abstractmethod
    def greedy(self, observations: NDArray[Any]) -> Actions:
        """The action of highest value for each observation."""

    @abstractmethod
    def learn(self, batch: Batch) -> None:
        """One step of the optimiser on a batch of transitions."""

    @abstractmethod
    def figures(self) -> Figures:
        """Of the last batch, before its step."""

    def sync_target(self, tau: float) -> None:
        """Move the target network this fraction of the way to the learning one."""
        self._flat_target.values.data.lerp_(self._flat.values.data, tau)


class Transitions(NamedTuple):
    """A Batch on the device of the network."""

    observations: Tensor
    next_observations: Tensor
    actions: Tensor
    rewards: Tensor
    terminated: Tensor


class AutogradLearner(QLearner[Network]):
    """Gradients by torch: for convolutions and for GPUs. A subclass says what the loss is."""

    def __init__(
        self,
        network: Network,
        gamma: float,
        learning_rate: float,
        adam_epsilon: float = 1e-8,
        use_graph: bool = False,
    ) -> None:
        super().__init__(network, gamma, learning_rate, adam_epsilon)
        self._device = self._flat.values.device
        self._use_graph = use_graph and self._device.type == "cuda"
        self._update: Callable[..., Tensor] | None = None
        self._figures = torch.zeros(2)

    @abstractmethod
    def loss(self, batch: Transitions) -> tuple[Tensor, Tensor]:
        """The loss, and the values of the actions taken."""

    @torch.no_grad()
    def greedy(self, observations: NDArray[Any]) -> Actions:
        values = self.network(torch.from_numpy(observations).to(self._device))
        actions: Actions = values.argmax(1).cpu().numpy()
        return actions

    def learn(self, batch: Batch) -> None:
        tensors = [torch.from_numpy(array).to(self._device) for array in batch]
        if self._update is None:
            self._update = self.update
            if self._use_graph:
                self._update = graphed(self.update, tensors, self.optimizer.tensors())
        self._figures = self._update(*tensors)

    def figures(self) -> Figures:
        return Figures(*self._figures.tolist())

    def update(self, *batch: Tensor) -> Tensor:
        """The loss and the mean value of the actions taken, in one tensor."""
        loss, values = self.loss(Transitions(*batch))
        self._flat.gradient.zero_()
        loss.backward()
        self.optimizer.step()
        return torch.stack([loss.detach(), values.detach().mean()])
