"""DQN's update with its gradient derived by hand; `algorithms/dqn.py` states the same loss."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.accelerators.acting_networks import ActingNetwork
from cleanrl_worker.accelerators.cuda_graphs import Function, graphed_later
from cleanrl_worker.accelerators.dense_network import DenseNetwork
from cleanrl_worker.accelerators.learners import Actions, QLearner, QMetrics
from cleanrl_worker.agents.q_networks import QNetwork
from cleanrl_worker.arguments import Arguments
from cleanrl_worker.kit.optimizers import FlatAdam
from cleanrl_worker.kit.replay_buffers import Batch


class PlainDQN(QLearner, Protocol):
    """What is accelerated: the learner in `algorithms/dqn.py`."""

    network: QNetwork
    target: QNetwork
    optimizer: FlatAdam
    step: Function


def accelerated_dqn(plain: PlainDQN, gamma: float, arguments: Arguments) -> QLearner | None:
    """Dense layers on a CPU in numpy; on a GPU, where `compile` asks for it, a graph."""
    if not arguments.accelerate:
        return None
    if plain.network.is_small:
        return NumpyDQN(plain.network, plain.target, plain.optimizer, gamma)
    if arguments.compile and plain.optimizer.gradient.is_cuda:
        plain.step = graphed_later(plain.step, plain.optimizer.tensors())
        return plain
    return None


class NumpyDQN:
    def __init__(
        self, network: QNetwork, target: QNetwork, optimizer: FlatAdam, gamma: float
    ) -> None:
        self.optimizer, self.gamma = optimizer, gamma
        self._inputs = network.inputs
        self._acting = ActingNetwork(network.network)
        self._online = DenseNetwork(network.network)
        self._older = DenseNetwork(target.network)
        self._errors = self._chosen = np.zeros(1, np.float32)

    def greedy(self, observations: NDArray[Any]) -> Actions:
        actions: Actions = self._acting(self._inputs.array(observations)).argmax(1)
        return actions

    def update(self, batch: Batch) -> None:
        self.store_gradient(batch)
        self.optimizer.step()

    def metrics(self) -> QMetrics:
        return QMetrics(float(np.mean(self._errors**2)), float(self._chosen.mean()))

    def store_gradient(self, batch: Batch) -> None:
        """Leaves it in the parameters' `.grad`."""
        following = self._older.forward(self._inputs.array(batch.next_observations))
        targets = following.T.copy().max(0)  # along rows as short as these `max` is slow
        targets *= (1.0 - batch.terminated) * np.float32(self.gamma)
        targets += batch.rewards
        values = self._online.forward(self._inputs.array(batch.observations))
        size, num_actions = values.shape
        taken = np.arange(0, values.size, num_actions) + batch.actions
        self._chosen = values.ravel().take(taken)
        self._errors = self._chosen - targets
        d_values = np.zeros(values.size, np.float32)
        d_values[taken] = self._errors * np.float32(2.0 / size)
        self._online.backward(d_values.reshape(values.shape))
