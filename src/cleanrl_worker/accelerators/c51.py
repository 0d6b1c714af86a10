"""C51's update with its gradient derived by hand; `algorithms/c51.py` states the same loss."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from cleanrl_worker.accelerators.acting_networks import ActingNetwork
from cleanrl_worker.accelerators.cuda_graphs import Function, graphed_later
from cleanrl_worker.accelerators.dense_network import Array, DenseNetwork
from cleanrl_worker.accelerators.learners import Actions, QLearner, QMetrics
from cleanrl_worker.agents.q_networks import LARGEST_PROBABILITY, SMALLEST_PROBABILITY, C51Network
from cleanrl_worker.arguments import Arguments
from cleanrl_worker.kit.optimizers import FlatAdam, weight_views
from cleanrl_worker.kit.replay_buffers import Batch

_SMALLEST, _LARGEST = np.float32(SMALLEST_PROBABILITY), np.float32(LARGEST_PROBABILITY)


class PlainC51(QLearner, Protocol):
    """What is accelerated: the learner in `algorithms/c51.py`."""

    network: C51Network
    target: C51Network
    optimizer: FlatAdam
    step: Function


def accelerated_c51(plain: PlainC51, gamma: float, arguments: Arguments) -> QLearner | None:
    """Dense layers on a CPU in numpy; on a GPU, where `compile` asks for it, a graph."""
    if not arguments.accelerate:
        return None
    if plain.network.is_small:
        return NumpyC51(plain.network, plain.target, plain.optimizer, gamma)
    if arguments.compile and plain.optimizer.gradient.is_cuda:
        plain.step = graphed_later(plain.step, plain.optimizer.tensors())
        return plain
    return None


class NumpyC51:
    def __init__(
        self, network: C51Network, target: C51Network, optimizer: FlatAdam, gamma: float
    ) -> None:
        self.optimizer, self.gamma = optimizer, gamma
        self._inputs = network.inputs
        self._num_actions = network.num_actions
        self._rows = (-1, network.n_atoms)  # one for each action of each observation
        *trunk, head = network.network
        assert isinstance(head, nn.Linear)
        self._acting = ActingNetwork(network.network)
        self._trunk = DenseNetwork(trunk)
        self._heads = ActionHeads(head, network.num_actions)
        self._older = DenseNetwork(target.network)
        self._atoms: Array = network.atoms.numpy()
        self._ones = np.ones_like(self._atoms)
        self._chosen = self._wanted = np.zeros((1, network.n_atoms), np.float32)

    def greedy(self, observations: NDArray[Any]) -> Actions:
        logits = self._acting(self._inputs.array(observations))
        return self._best(softmax(logits.reshape(self._rows)))

    def _best(self, distributions: Array) -> Actions:
        values = np.dot(distributions, self._atoms).reshape(-1, self._num_actions)
        actions: Actions = values.argmax(1)
        return actions

    def update(self, batch: Batch) -> None:
        self.store_gradient(batch)
        self.optimizer.step()

    def metrics(self) -> QMetrics:
        likely = np.clip(self._chosen, SMALLEST_PROBABILITY, LARGEST_PROBABILITY)
        loss = -np.vdot(self._wanted, np.log(likely)) / len(likely)
        return QMetrics(float(loss), float((self._chosen @ self._atoms).mean()))

    def store_gradient(self, batch: Batch) -> None:
        """Leaves it in the parameters' `.grad`.

        With probabilities p, targets m and the loss -sum(m log p): d loss / d logits is p - m, or,
        where p is clipped and its atom thus falls out of the loss, p sum(kept m) - kept m.
        """
        order = batch.actions.argsort(kind="stable")
        batch = Batch(*(column.take(order, 0) for column in batch))
        self._wanted = wanted = self._targets(batch)
        hidden = self._trunk.forward(self._inputs.array(batch.observations))
        self._chosen = chosen = softmax(self._heads.forward(hidden, batch.actions))
        kept = wanted * ((chosen >= _SMALLEST) & (chosen <= _LARGEST))
        d_logits = chosen * np.dot(kept, self._ones)[:, None]
        d_logits -= kept
        d_logits *= np.float32(1.0 / len(chosen))
        self._trunk.backward(self._heads.backward(d_logits))

    def _targets(self, batch: Batch) -> Array:
        """The distribution of the target network's best action, one step on and projected."""
        logits = self._older.forward(self._inputs.array(batch.next_observations))
        distributions = softmax(logits.reshape(self._rows))
        best = self._best(distributions)
        num_actions = self._num_actions
        following = distributions.take(np.arange(0, len(distributions), num_actions) + best, 0)
        discounts = (1.0 - batch.terminated) * np.float32(self.gamma)
        return project(following, batch.rewards, discounts, self._atoms)


def softmax(logits: Array) -> Array:
    """Along the last axis, by torch: one operation instead of four."""
    result: Array = torch.from_numpy(logits).softmax(-1).numpy()
    return result


def project(probabilities: Array, rewards: Array, discounts: Array, atoms: Array) -> Array:
    """Move each atom to `reward + discount * atom`; the two nearest atoms share its probability."""
    size, count = probabilities.shape
    spacing = (atoms[-1] - atoms[0]) / np.float32(count - 1)
    places = discounts[:, None] * (atoms / spacing)
    places += ((rewards - atoms[0]) / spacing)[:, None]
    np.clip(places, np.float32(0), np.float32(count - 1), out=places)
    below = np.floor(places)
    above_share = np.subtract(places, below, out=places)
    above_share *= probabilities
    slots = below.astype(np.int64)
    slots += np.arange(0, size * count, count)[:, None]
    slots = slots.ravel()
    # One slot more: from the last place a share of 0 moves on, in the last row out of the array.
    projected = np.zeros(size * count + 1, np.float32)
    np.add.at(projected, slots, (probabilities - above_share).ravel())
    slots += 1
    np.add.at(projected, slots, above_share.ravel())
    return projected[:-1].reshape(size, count)


class ActionHeads:
    """The last layer, seen as one layer per action: only that of the action taken is needed."""

    def __init__(self, layer: nn.Linear, num_actions: int) -> None:
        weights, biases = weight_views(layer.weight), weight_views(layer.bias)
        width = layer.in_features
        self.weights, self.d_weights = (view.reshape(num_actions, -1, width) for view in weights)
        self.biases, self.d_biases = (view.reshape(num_actions, -1) for view in biases)
        self.input: Any = None
        self.bounds: list[int] = []

    def forward(self, x: Array, actions: Actions) -> Array:
        """The outputs for one action per row; rows are sorted by their actions."""
        self.input = x
        self.bounds = actions.searchsorted(np.arange(len(self.weights) + 1)).tolist()
        output = np.empty((len(x), self.weights.shape[1]), np.float32)
        for action, (start, end) in enumerate(pairwise(self.bounds)):
            np.dot(x[start:end], self.weights[action].T, out=output[start:end])
            output[start:end] += self.biases[action]
        return output

    def backward(self, d_output: Array) -> Array:
        d_input: Array = np.empty_like(self.input)
        for action, (start, end) in enumerate(pairwise(self.bounds)):
            rows = d_output[start:end]
            np.dot(rows.T, self.input[start:end], out=self.d_weights[action])
            rows.sum(0, out=self.d_biases[action])
            np.dot(rows, self.weights[action], out=d_input[start:end])
        return d_input
