"""C51's update with its gradient derived by hand; `algorithms/c51.py` states the same loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.agents.c51_network import C51Network
from cleanrl_worker.agents.q_learner import Actions, Learned, QLearner
from cleanrl_worker.analytic.dense_network import Array, DenseNetwork
from cleanrl_worker.kit.replay_buffer import Batch

SMALLEST_PROBABILITY = 1e-5  # the loss is flat beyond it, on both sides


class AnalyticC51Learner(QLearner[C51Network]):
    def __init__(
        self, network: C51Network, gamma: float, learning_rate: float, adam_epsilon: float
    ) -> None:
        super().__init__(network, gamma, learning_rate, adam_epsilon)
        self._inputs = network.inputs
        self._atoms: Array = network.atoms.numpy()
        # One product with these two columns gives the mean and the total of unscaled weights.
        self._mean_and_total = np.stack([self._atoms, np.ones_like(self._atoms)], 1)
        self._shape = (-1, network.num_actions, network.n_atoms)
        self._online = DenseNetwork(self.network.network)
        self._older = DenseNetwork(self.target.network)

    def greedy(self, observations: NDArray[Any]) -> Actions:
        logits = self._online.forward(self._inputs.array(observations)).reshape(self._shape)
        weighted = softmax_weights(logits) @ self._mean_and_total
        actions: Actions = (weighted[..., 0] / weighted[..., 1]).argmax(1)
        return actions

    def learn(self, batch: Batch) -> Learned:
        loss, value = self.gradient(batch)
        self.optimizer.step()
        return loss, value

    def gradient(self, batch: Batch) -> tuple[float, float]:
        """Leaves it in the parameters' `.grad`; returns the loss and the mean value.

        With probabilities p, targets m and the loss -sum(m log p): d loss / d logits is p - m, or,
        where p is clipped and its atom thus falls out of the loss, p sum(kept m) - kept m.
        """
        wanted = self._targets(batch)
        logits = self._online.forward(self._inputs.array(batch.observations)).reshape(self._shape)
        size = len(logits)
        taken = np.arange(size), batch.actions
        chosen = softmax_weights(logits[taken])
        chosen /= chosen.sum(1, keepdims=True)
        clipped = np.clip(chosen, SMALLEST_PROBABILITY, 1.0 - SMALLEST_PROBABILITY)
        kept = wanted * (clipped == chosen)
        d_chosen = chosen * kept.sum(1, keepdims=True)
        d_chosen -= kept
        d_chosen *= np.float32(1.0 / size)
        d_logits = np.zeros_like(logits)
        d_logits[taken] = d_chosen
        self._online.backward(d_logits.reshape(size, -1))
        loss = -np.vdot(wanted, np.log(clipped)) / size
        return float(loss), float((chosen @ self._atoms).mean())

    def _targets(self, batch: Batch) -> Array:
        """The distribution of the target network's best action, one step on and projected."""
        logits = self._older.forward(self._inputs.array(batch.next_observations))
        weights = softmax_weights(logits.reshape(self._shape))
        weighted = weights @ self._mean_and_total
        best = (weighted[..., 0] / weighted[..., 1]).argmax(1)
        rows = np.arange(len(best))
        following = weights[rows, best] / weighted[rows, best, 1:]
        discounts = (1.0 - batch.terminated) * np.float32(self.gamma)
        return project(following, batch.rewards, discounts, self._atoms)


def softmax_weights(logits: Array) -> Array:
    """Proportional to probabilities along the last axis; works in place."""
    logits -= logits.max(-1, keepdims=True)
    return np.exp(logits, out=logits)


def project(probabilities: Array, rewards: Array, discounts: Array, atoms: Array) -> Array:
    """Move every atom to `reward + discount * atom` and share its mass among the two nearest."""
    size, count = probabilities.shape
    first, spacing = atoms[0], (atoms[-1] - atoms[0]) / np.float32(count - 1)
    positions = discounts[:, None] * ((atoms) / spacing)
    positions += ((rewards - first) / spacing)[:, None]
    np.clip(positions, 0.0, np.float32(count - 1), out=positions)
    below = positions.astype(np.int64)
    positions -= below
    above_mass = positions * probabilities
    below_mass = probabilities - above_mass
    below += np.arange(0, size * count, count)[:, None]
    # An atom on the last place has nothing above it: a mass of 0 then lands in the next row.
    places = size * count + 1
    total = np.bincount(below.ravel(), below_mass.ravel(), places)
    below += 1
    total += np.bincount(below.ravel(), above_mass.ravel(), places)
    projected: Array = total[:-1].reshape(size, count).astype(np.float32)
    return projected
