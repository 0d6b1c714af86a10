"""PQN's update with its gradient derived by hand; `algorithms/pqn.py` states the same loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.accelerators.acting_networks import NormalizedActing
from cleanrl_worker.accelerators.dense_network import Array, DenseNetwork
from cleanrl_worker.accelerators.learners import Actions, QMetrics, RolloutQLearner
from cleanrl_worker.agents.q_networks import PQNNetwork
from cleanrl_worker.arguments import Arguments
from cleanrl_worker.kit.optimizers import FlatRAdam


def accelerated_pqn(
    network: PQNNetwork, optimizer: FlatRAdam, max_grad_norm: float, arguments: Arguments
) -> RolloutQLearner | None:
    """Dense layers on a CPU in numpy."""
    if arguments.accelerate and network.is_small:
        return NumpyPQN(network, optimizer, max_grad_norm)
    return None


class NumpyPQN:
    def __init__(self, network: PQNNetwork, optimizer: FlatRAdam, max_grad_norm: float) -> None:
        self.optimizer = optimizer
        self._max_grad_norm = max_grad_norm
        self._inputs = network.inputs
        self._acting = NormalizedActing(network.network)
        self._layers = DenseNetwork(network.network)
        self._errors = self._chosen = np.zeros(1, np.float32)

    def refresh(self) -> None:
        self._acting.refresh()

    def greedy(self, observations: NDArray[Any]) -> Actions:
        actions: Actions = self._acting(self._inputs.array(observations)).argmax(1)
        return actions

    def best_values(self, observations: NDArray[Any]) -> Array:
        values: Array = self._values(observations).max(1)
        return values

    def _values(self, observations: NDArray[Any]) -> Array:
        return self._layers.forward(self._inputs.array(observations))

    def update(self, observations: NDArray[Any], actions: Actions, returns: Array) -> None:
        self.store_gradient(observations, actions, returns)
        self.optimizer.flat.clip_gradient_array(self._max_grad_norm)
        self.optimizer.step()

    def metrics(self) -> QMetrics:
        return QMetrics(float(np.mean(self._errors**2)), float(self._chosen.mean()))

    def store_gradient(self, observations: NDArray[Any], actions: Actions, returns: Array) -> None:
        """Leaves it in the parameters' `.grad`."""
        values = self._values(observations)
        size, num_actions = values.shape
        taken = np.arange(0, values.size, num_actions) + actions
        self._chosen = values.ravel().take(taken)
        self._errors = self._chosen - returns
        d_values = np.zeros(values.size, np.float32)
        d_values[taken] = self._errors * np.float32(2.0 / size)
        self._layers.backward(d_values.reshape(values.shape))
