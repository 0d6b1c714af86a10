"""DQN's update with its gradient derived by hand; `algorithms/dqn.py` states the same loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.agents.q_learner import Actions, Figures, QLearner
from cleanrl_worker.agents.q_network import QNetwork
from cleanrl_worker.analytic.acting_network import ActingNetwork
from cleanrl_worker.analytic.dense_network import DenseNetwork
from cleanrl_worker.kit.replay_buffer import Batch


class AnalyticQLearner(QLearner[QNetwork]):
    def __init__(self, network: QNetwork, gamma: float, learning_rate: float) -> None:
        super().__init__(network, gamma, learning_rate)
        self._inputs = network.inputs
        self._acting = ActingNetwork(self.network.network)
        self._online = DenseNetwork(self.network.network)
        self._older = DenseNetwork(self.target.network)
        self._errors = self._chosen = np.zeros(1, np.float32)

    def greedy(self, observations: NDArray[Any]) -> Actions:
        actions: Actions = self._acting(self._inputs.array(observations)).argmax(1)
        return actions

    def learn(self, batch: Batch) -> None:
        self.store_gradient(batch)
        self.optimizer.step()

    def figures(self) -> Figures:
        return Figures(float(np.mean(self._errors**2)), float(self._chosen.mean()))

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
